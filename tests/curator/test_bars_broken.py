"""Error bars that promised more than they kept: each of these once had one that missed, or none to be had at all."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import clinic

from discreet.curator import Curator, above
from discreet.curator.law import bar
from discreet.curator.notices import COVERED, STAGED
from discreet.curator.trace import Side
from discreet.mechanisms import GaussianVector
from discreet.sql.split import question


def sides(sql: str) -> tuple[Side, ...]:
    return above.upper(question(sql, clinic.schema(max_rows=1, max_groups=1))).sides


def test_wide_noise_beside_narrow_noise_is_not_listed() -> None:
    """A count and a sum under ρ: the sum's noise alone took 19 GiB to list."""
    narrow, wide = GaussianVector(Fraction(1000)), GaussianVector(Fraction(10) ** 20)
    rare = Fraction(1, 20)
    together = bar(((narrow, Fraction(1)), (wide, Fraction(1))), rare)
    assert 1 <= float(together) / wide.error(1 - rare) < 1.001


CONDITION = "SELECT count(*) AS n FROM visits WHERE cost > (SELECT avg(cost) FROM visits)"


def test_a_noisy_number_in_a_condition_leaves_no_bar(tmp_path: Path) -> None:
    curator = Curator(clinic.home(tmp_path / "home"))
    told = curator.explain(CONDITION, epsilon=2)
    assert (told.error, told.unbarred) == ((), ("n",))
    answer = curator.query(CONDITION, epsilon=2)
    assert answer.spans == answer.intervals("0.5") == ((None,),)
    assert answer.unbarred == ("n",)
    for bounding in (told.bounding, answer.bounding):
        assert bounding.startswith(STAGED)
        assert COVERED not in bounding
