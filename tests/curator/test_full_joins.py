"""Full joins keep all rows of people who exceed no cap, and a name in a condition is a column before it is an alias."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from pathlib import Path

import hospital
import pyarrow as pa
import pytest
import template

from discreet.curator import Curator, Terms
from discreet.curator.custody import Custody, Declared, found_home

PEOPLE = 30
CONDITIONS: dict[str, Callable[[int, int], bool]] = {
    "an > 90": lambda n, _: n > 90,
    "an = bn": operator.eq,
    "an >= bn": operator.ge,
    "an >= 0": lambda n, _: n >= 0,
}


def _home(folder: Path, left: int, right: int) -> Curator:
    """Each person has as many rows of both tables as declared; the n-th row of each has the number n."""
    return Curator(template.home(folder, lambda place: _make(place, left, right), "a full join", left, right))


def _make(folder: Path, left: int, right: int) -> None:
    found_home(folder)
    for name, most in (("a", left), ("b", right)):
        rows = [(person, n) for person in range(PEOPLE) for n in range(most)]
        table = pa.table({"person": [row[0] for row in rows], f"{name}n": [row[1] for row in rows]})
        said = Declared(
            unit="person", epsilon=10**30, delta="1e-2", max_rows=most, max_groups=most, bounds={f"{name}n": (0, 99)}
        )
        Custody(folder).add(name, table, said)


@pytest.mark.parametrize(("left", "right"), [(1, 1), (1, 3), (2, 2), (2, 3)])
def test_no_row_of_a_full_join_is_cut_where_nobody_has_too_many(tmp_path: Path, left: int, right: int) -> None:
    curator = _home(tmp_path / "home", left, right)
    for on, fits in CONDITIONS.items():
        pairs = [(n, m) for n, m in product(range(left), range(right)) if fits(n, m)]
        alone = left - len({n for n, _ in pairs}) + right - len({m for _, m in pairs})
        expected = (PEOPLE * (len(pairs) + alone), PEOPLE * (len(pairs) + left - len({n for n, _ in pairs})))
        sql = f"SELECT count(*), count(an) FROM a FULL JOIN b ON a.person = b.person AND {on}"
        assert hospital.exactly(curator, sql) == [expected], on


def test_the_most_rows_of_a_full_join_are_what_is_charged_and_limited(tmp_path: Path) -> None:
    curator = _home(tmp_path / "home", 1, 3)
    joined = "SELECT count(*) FROM a {} JOIN b ON a.person = b.person AND an > 90"
    plans = [curator._question(joined.format(kind), Terms()).parts[0].measurement for kind in ("", "LEFT", "FULL")]
    assert [plan.max_rows for plan in plans] == [3, 3, 4]


def test_a_name_in_a_condition_is_a_column_around_it_before_it_is_an_alias(tmp_path: Path) -> None:
    """As in Postgres, where the answer's names are not known before GROUP BY."""
    curator = _home(tmp_path / "home", 2, 3)
    exists = "SELECT count(*) FROM a WHERE EXISTS (SELECT {} AS an FROM b WHERE b.person = a.person AND {})"
    assert hospital.exactly(curator, exists.format("bn", "an = 1")) == [(PEOPLE,)]
    assert hospital.exactly(curator, exists.format("bn", "an = 2")) == [(0,)]  # though it is a number of b
    assert hospital.exactly(curator, exists.format("bn + 7", "AN < 1 AND bn = 2")) == [(PEOPLE,)]
    grouped = "SELECT bn - 1 AS m, count(*) FROM b WHERE bn > 0 GROUP BY m HAVING m > 0"
    assert hospital.exactly(curator, grouped, delta="1e-3") == [(1, PEOPLE)]
