"""Which questions ask for one exact number, and how far one person can move it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import clinic
import pytest
from curator.sessions import ALL, UNANSWERED, opened

from discreet.curator import Curator
from discreet.curator.quote import Terms
from discreet.curator.sessions import scalar, span
from discreet.errors import Refusal
from discreet.mechanisms import Above, Below, SparseVector
from discreet.privacy import AddRemove, Neighbours, Replace


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=10**12)


def test_only_one_number_that_is_counted_or_summed_is_answered(home: Path) -> None:
    session = opened(home)
    for sql in UNANSWERED:
        with pytest.raises(Refusal, match="one number that is counted or summed"):
            session.ask(sql)
    for sql, unit in [(ALL, 50), ("SELECT sum(cost) FROM visits", 50_000)]:
        for sensitivity in (unit, unit - 1):
            other = opened(home, SparseVector.of(1, 100, sensitivity=sensitivity))
            if sensitivity == unit:
                assert isinstance(other.ask(sql), Above | Below)
                continue
            with pytest.raises(Refusal, match=f"one patient may move this by {unit}, .* opened for {sensitivity}"):
                other.ask(sql)
    assert session.status.asked == 0


@pytest.mark.parametrize(
    ("column", "moved", "rises"),
    [("least(cost, 7)", 7, True), ("cost - 1000", 1000, False), ("cost / 8 - 25", 100, False), ("-cost", 1000, False)],
)
def test_how_far_one_person_moves_a_sum(home: Path, column: str, moved: int, rises: bool) -> None:  # noqa: FBT001
    sql = f"SELECT sum({column}) FROM visits"
    expected: dict[Neighbours, int] = {
        AddRemove("patient"): moved,
        Replace("patient"): {7: 7, 100: 125}.get(moved, 1000),
    }
    for rows in (1, 5):
        found = Curator(home).paid_sessions().planned(sql, Terms(max_rows=rows))
        for neighbours, far in expected.items():
            reach, up = span(*scalar(found), neighbours)
            assert (reach, up) == (Fraction(rows * far), rises)


def test_a_part_of_a_step_more_than_the_sensitivity_is_refused(home: Path) -> None:
    """A sum that one person moves by 2.5 is rounded down, and then by 3."""
    sql = "SELECT sum(least(cost, 2.5)) FROM visits"
    with pytest.raises(Refusal, match=r"one patient may move this by 3, .* opened for 2"):
        opened(home, SparseVector.of(1, 100, sensitivity=2)).ask(sql, max_rows=1)
    assert isinstance(opened(home, SparseVector.of(1, 100, sensitivity=3)).ask(sql, max_rows=1), Above | Below)


def test_a_monotone_session_sums_nothing_negative(home: Path) -> None:
    session = opened(home, SparseVector.of(9, 100, sensitivity=50_000, monotone=True))
    with pytest.raises(Refusal, match="monotone"):
        session.ask("SELECT sum(cost - 500) FROM visits")
    assert isinstance(session.ask("SELECT sum(cost) FROM visits"), Above)
