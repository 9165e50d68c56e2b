"""A memory that may be looked into as a session: its state, what it keeps of rows, what it refuses."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from doubles import Seeded

from discreet.errors import Refusal
from discreet.mechanisms.registry import described, rebuilt
from discreet.privacy import Pure
from discreet.stream import PanPrivateDensity, PanPrivateDistinct, PanPrivateVisits, Visitors
from discreet.stream.visitors import Doing, Happening

SURE: dict[str, Any] = {"epsilon_memory": Fraction(40), "epsilon_answer": Fraction(400), "size": 6}
COUNTERS: list[Any] = [
    PanPrivateDistinct(**SURE, answers=2, intrusions=2),
    PanPrivateDensity(**SURE, answers=2, intrusions=2, sample=6),
    PanPrivateVisits(**SURE, answers=2, intrusions=2, most=3),
]
TOLD: list[Any] = [(3,), (Fraction(1, 2),), (3, 1, 1, 1)]  # of three people, who come once, twice and three times


def came(*people: int) -> Happening:
    return Happening(Doing.CAME, people)


@pytest.mark.parametrize(
    ("counter", "true"), list(zip(COUNTERS, TOLD, strict=True)), ids=["distinct", "density", "visits"]
)
def test_it_is_stopped_and_read_back_after_every_step(counter: Any, true: Any) -> None:  # noqa: ANN401
    session, rng = Visitors(counter, steps=9), Seeded(1)
    assert session.privacy == counter.privacy == Pure(880)
    state = session.start(rng)
    tell, blur = Happening(Doing.TOLD), Happening(Doing.REFRESHED)
    for each in (tell, came(3, 4, 5), blur, came(4, 5, 5), came(), tell):
        state = session.step(state, each, rng)
        text = json.dumps(session.encode(state))
        assert len(text) <= session.room
        state = session.decode(json.loads(text))
        assert json.dumps(session.encode(state)) == text
    first, *between, last = session.answers(state)
    assert [each.doing for each in between] == ["came", "refreshed", "came", "came"]
    assert [float(each) for each in last.numbers] == pytest.approx([float(each) for each in true], abs=1e-9)
    assert (first.refreshed, last.refreshed) == (0, 1)
    assert [str(each) for each in session.used(state)] == ["2 answers of 2", "6 steps of 9"]
    assert [session.heard(json.loads(json.dumps(session.told(each)))) for each in (first, last)] == [first, last]
    told = json.loads(json.dumps(described(session)))
    assert rebuilt(told["name"], told["parameters"]) == session


def test_nothing_is_kept_of_rows_but_the_memory() -> None:
    """Of visits that leave the memory as it is, nothing is left: not their number, and no digest of them."""
    session = Visitors(COUNTERS[2], steps=9)
    state = session.start(Seeded(2))
    nobody, around = (session.step(state, each, Seeded(3)) for each in (came(), came(1, 1, 1, 1)))
    assert session.encode(nobody) == session.encode(around)


def test_odd_parameters_are_refused() -> None:
    assert Visitors(COUNTERS[0], tuple("abcdef")).names == tuple("abcdef")
    for names in (tuple("abcde"), tuple("abcdee")):
        with pytest.raises(Refusal, match="name each once"):
            Visitors(COUNTERS[0], names)
    with pytest.raises(Refusal, match="expected at most"):
        Visitors(PanPrivateDistinct(Fraction(1), Fraction(1), 1 << 23))
    with pytest.raises(Refusal):
        Visitors(COUNTERS[0], steps=0)


@pytest.mark.parametrize("counter", COUNTERS, ids=["distinct", "density", "visits"])
def test_a_memory_is_blurred_as_often_as_looks_are_covered_and_can_then_be_told(counter: Any) -> None:  # noqa: ANN401
    session, rng = Visitors(counter), Seeded(4)
    state = session.start(rng)
    for _ in range(64):
        state = session.step(state, Happening(Doing.REFRESHED), rng)
    json.dumps(session.encode(session.step(state, Happening(Doing.TOLD), rng)))
    with pytest.raises(Refusal, match="blurred at most 64 times"):
        session.step(state, Happening(Doing.REFRESHED), rng)
