"""An opened sparse vector: paid first, never drawn twice, continued identically after a kill, silent on disk."""

from __future__ import annotations

import copy
import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from doubles import Seeded
from mechanisms.sessions import KINDS, VALUES, Opened, T, asked, opened

from discreet.errors import Fault, OverBudget, Refusal
from discreet.mechanisms.encrypted_file import CLOSED
from discreet.mechanisms.registry import described
from discreet.mechanisms.sparse import Above, Below, Comparison, RefreshedSparseVector, SparseVector
from discreet.privacy import AddRemove, Guarantee, Pure

TESTS = Path(__file__).parents[1]


def test_the_whole_price_is_paid_once_and_first(tmp_path: Path) -> None:
    bills: list[Guarantee[Pure]] = []

    def pay(bill: Guarantee[Pure]) -> None:
        assert not (tmp_path / "state").exists(), "nothing is drawn before it is paid"
        bills.append(bill)

    mechanism = SparseVector.of(1, T, 3, numeric=True)
    session = mechanism.open(tmp_path / "state", tmp_path / "key", dataset="v1", pay=pay, rng=Seeded(1))
    asked(session, VALUES)
    asked(mechanism.resume(tmp_path / "state", tmp_path / "key", dataset="v1"), VALUES)
    assert bills == [Guarantee(Pure(1), AddRemove())]


def test_nothing_is_opened_if_it_is_not_paid(tmp_path: Path) -> None:
    def broke(_: object) -> None:
        raise OverBudget("no more")

    with pytest.raises(OverBudget):
        KINDS[0].open(tmp_path / "state", tmp_path / "key", dataset="v1", pay=broke)
    assert not (tmp_path / "state").exists()


def test_an_existing_state_is_never_overwritten_and_not_paid_again(tmp_path: Path) -> None:
    opened(KINDS[0], tmp_path)
    before = (tmp_path / "state").read_bytes()
    bills: list[object] = []
    with pytest.raises(Refusal, match="already a state file"):
        KINDS[0].open(tmp_path / "state", tmp_path / "key", dataset="v1", pay=bills.append)
    assert bills == []
    assert (tmp_path / "state").read_bytes() == before


@pytest.mark.parametrize("mechanism", KINDS, ids=["plain", "refreshed"])
def test_a_session_answers_as_the_same_mechanism_in_memory(
    mechanism: SparseVector | RefreshedSparseVector, tmp_path: Path
) -> None:
    rng = Seeded(9)
    session = mechanism.open(tmp_path / "state", tmp_path / "key", dataset="v1", pay=lambda _: None, rng=rng)
    answers: list[Comparison] = []
    while not session.closed:
        answers.append(session.ask(VALUES[len(answers)]))
    assert tuple(answers) == mechanism(VALUES, rng=Seeded(9)) == session.answers


@pytest.mark.parametrize("mechanism", KINDS, ids=["plain", "refreshed"])
def test_it_closes_after_the_last_hard_answer(mechanism: SparseVector | RefreshedSparseVector, tmp_path: Path) -> None:
    session = opened(mechanism, tmp_path)
    for _ in range(3):
        assert not session.closed
        assert isinstance(session.ask(10**6), Above)
    assert session.closed
    for value in (0, 10**6):
        with pytest.raises(OverBudget, match="3 hard answers of 3"):
            session.ask(value)
    again = mechanism.resume(tmp_path / "state", tmp_path / "key", dataset="v1")
    with pytest.raises(OverBudget):
        again.ask(10**6)
    assert len(again.answers) == 3


def test_it_closes_after_the_last_question(tmp_path: Path) -> None:
    session = opened(SparseVector.of(1, T, 3, questions=2), tmp_path)
    assert [session.ask(-(10**6)), session.ask(-(10**6))] == [Below(), Below()]
    with pytest.raises(OverBudget, match="2 questions of 2"):
        session.ask(-(10**6))


@pytest.mark.parametrize("mechanism", KINDS, ids=["plain", "refreshed"])
@pytest.mark.parametrize("stop", [0, 1, 4, 6])
def test_a_resumed_session_continues_identically(
    mechanism: SparseVector | RefreshedSparseVector, stop: int, tmp_path: Path
) -> None:
    whole = asked(opened(mechanism, tmp_path, name="whole"), VALUES)
    first = asked(opened(mechanism, tmp_path), VALUES[:stop])
    resumed = mechanism.resume(tmp_path / "state", tmp_path / "key", dataset="v1")
    rest = asked(resumed, VALUES[stop:], start=stop)
    assert first + rest == whole
    assert len(whole) > 6


def test_copies_share_one_state(tmp_path: Path) -> None:
    """A session in memory holds no secret and no count: asking through a copy is asking the session."""
    session = opened(KINDS[0], tmp_path)
    doors = itertools.cycle([session, copy.copy(session), copy.deepcopy(session)])
    given = [next(doors).ask(10**6) for _ in range(3)]
    assert all(isinstance(answer, Above) for answer in given)
    with pytest.raises(OverBudget):
        next(doors).ask(10**6)


def test_asking_the_same_number_again_gives_the_same_answer_and_draws_nothing(tmp_path: Path) -> None:
    session = opened(KINDS[0], tmp_path)
    first = session.ask(60, number=1, question="how many?")
    content = (tmp_path / "state").read_bytes()
    for value in (60, -(10**9), 10**9):  # not even the value is looked at
        assert replace(session, rng=Seeded(77)).ask(value, number=1, question="how many?") == first
    assert (tmp_path / "state").read_bytes() == content
    assert session.asked == 1


def test_a_number_that_is_not_the_next_is_refused(tmp_path: Path) -> None:
    session = opened(KINDS[0], tmp_path)
    session.ask(0, number=1, question="a")
    with pytest.raises(Refusal, match="question 1 is not the next; the next is 2"):
        session.ask(0, number=1, question="b")
    for number in (3, 100):
        with pytest.raises(Refusal, match=f"question {number} is not the next"):
            session.ask(0, number=number)
    with pytest.raises(Refusal, match="number >= 1"):
        session.ask(0, number=0)
    session.ask(0, number=2, question="b")
    with pytest.raises(Refusal, match="question 1 is not the next; the next is 3"):
        session.ask(0, number=1, question="a")
    assert session.asked == 2


def test_a_link_is_no_second_session(tmp_path: Path) -> None:
    mechanism = SparseVector.of(1, T, 1, questions=40)
    session = opened(mechanism, tmp_path)
    (tmp_path / "alias").symlink_to(tmp_path / "state")
    alias = mechanism.resume(tmp_path / "alias", tmp_path / "key", dataset="v1")
    assert isinstance(alias.ask(10**6), Above)
    for door in (session, alias):
        assert door.closed
        with pytest.raises(OverBudget):
            door.ask(10**6)
    with pytest.raises(Refusal, match="already a state file"):
        opened(mechanism, tmp_path, name="alias")


def test_a_second_name_is_no_second_session(tmp_path: Path) -> None:
    session = opened(KINDS[0], tmp_path)
    (tmp_path / "alias").hardlink_to(tmp_path / "state")
    with pytest.raises(Refusal, match="one name"):
        session.ask(10**6)
    with pytest.raises(Refusal, match="one name"):
        KINDS[0].resume(tmp_path / "alias", tmp_path / "key", dataset="v1")


def test_a_session_does_not_depend_on_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path)
    session = opened(KINDS[0], Path())
    monkeypatch.chdir(tmp_path / "inner")
    assert replace(session, rng=Seeded(3)).ask(-(10**6)) == Below()
    assert session.asked == 1
    assert list((tmp_path / "inner").iterdir()) == []


def test_a_session_opens_no_file_but_its_own_mechanism_s(tmp_path: Path) -> None:
    session = opened(SparseVector.of(1, T, 1), tmp_path)
    session.ask(10**6)
    for other in (replace(session, mechanism=SparseVector.of(1, T, 100)), replace(session, dataset="v2")):
        with pytest.raises(Refusal) as refused:
            other.ask(10**6)
        assert str(refused.value) == CLOSED
    assert not hasattr(session, "write")


@pytest.mark.parametrize(
    "mechanism",
    [
        SparseVector(Fraction(1, 10**4290), Fraction(1), 0),
        SparseVector(1 + Fraction(1, 10**5000), Fraction(1), 0),
        SparseVector(Fraction(1), Fraction(1), 0, hard=10**9),
    ],
    ids=["scale", "digits", "hard"],
)
def test_what_no_file_can_hold_is_refused_before_it_is_paid(mechanism: SparseVector, tmp_path: Path) -> None:
    bills: list[object] = []
    with pytest.raises(Refusal, match=r"too large|too many digits|more than 2000 digits"):
        mechanism.open(tmp_path / "state", tmp_path / "key", dataset="v1", pay=bills.append)
    assert bills == []
    assert list(tmp_path.iterdir()) == []


def test_numbers_as_large_as_a_session_takes_are_written_and_read(tmp_path: Path) -> None:
    session = opened(SparseVector(Fraction(1, 10**500), Fraction(1), 0), tmp_path)
    session.ask(0)
    assert session.asked == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "7", 3.7], ids=repr)
def test_any_value_is_answered(value: object, tmp_path: Path) -> None:
    session = opened(KINDS[0], tmp_path)
    assert isinstance(session.ask(value), Above | Below)  # type: ignore[arg-type]
    assert session.asked == 1


LOOKS: list[Callable[[Opened], object]] = [
    lambda session: session.ask(60, number=1, question="how many?"),
    lambda session: session.answers,
    lambda session: session.asked,
    lambda session: session.closed,
]


@pytest.mark.parametrize("look", LOOKS, ids=["again", "answers", "asked", "closed"])
def test_a_recorded_answer_is_durable_before_it_leaves(
    look: Callable[[Opened], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fails after the rename, when the folder should be flushed: nothing of the new state may be seen."""
    session, flush, failing = opened(KINDS[0], tmp_path), os.fsync, True
    folder, before = tmp_path.stat().st_ino, (tmp_path / "state").stat().st_ino

    def fragile(handle: int) -> None:
        renamed = (tmp_path / "state").stat().st_ino != before
        if failing and renamed and os.fstat(handle).st_ino == folder:
            raise OSError("Input/output error")
        flush(handle)

    monkeypatch.setattr(os, "fsync", fragile)
    with pytest.raises(Fault):
        session.ask(60, number=1, question="how many?")
    assert (tmp_path / "state").stat().st_ino != before
    with pytest.raises(Fault):
        look(session)
    failing = False
    look(session)
    assert session.asked == 1


SCRIPT = """
import os, signal, sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from doubles import Seeded
from mechanisms.sessions import KINDS, VALUES, Opened, T, asked, opened
import discreet.mechanisms.encrypted_file as sealed
from discreet.mechanisms.registry import rebuilt
import discreet.mechanisms.sparse
import json

folder, victim, moment = Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
mechanism = rebuilt(**json.loads(sys.argv[5]))
values = json.loads(sys.argv[6])
session = mechanism.open(folder / "state", folder / "key", dataset="v1", pay=lambda bill: None, rng=Seeded(1))
place = Path.replace

def die(self, target):
    if moment == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    place(self, target)
    os.kill(os.getpid(), signal.SIGKILL)

for i, value in enumerate(values):
    if i == victim:
        Path.replace = die
    print(repr(replace(session, rng=Seeded(100 + i)).ask(value, number=i + 1)), flush=True)
"""


@pytest.mark.parametrize("mechanism", KINDS, ids=["plain", "refreshed"])
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("victim", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_a_killed_process_is_continued_as_if_nothing_had_happened(
    mechanism: SparseVector | RefreshedSparseVector, moment: str, victim: int, tmp_path: Path
) -> None:
    """SIGKILL in the middle of an answer: before its state is in place, or after, when the answer has not left yet."""
    whole = asked(opened(mechanism, tmp_path, name="whole"), VALUES)
    arguments = [str(TESTS), str(tmp_path), str(victim), moment, json.dumps(described(mechanism)), json.dumps(VALUES)]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.stdout.splitlines() == [repr(answer) for answer in whole[:victim]]
    session = mechanism.resume(tmp_path / "state", tmp_path / "key", dataset="v1")
    assert session.asked == victim + (moment == "after")
    bits = Seeded(100 + victim) if moment == "before" else Seeded(12345)  # once drawn, no bits matter any more
    assert replace(session, rng=bits).ask(VALUES[victim], number=victim + 1) == whole[victim]
    assert asked(session, VALUES[victim + 1 :], start=victim + 1) == whole[victim + 1 :]


RACE = """
import json, sys
from pathlib import Path
from discreet.errors import OverBudget
from discreet.mechanisms.registry import rebuilt
import discreet.mechanisms.sparse

folder = Path(sys.argv[1])
session = rebuilt(**json.loads(sys.argv[2])).resume(folder / "state", folder / "key", dataset="v1")
given = 0
try:
    while True:
        session.ask(10**6)
        given += 1
except OverBudget:
    print(given)
"""


def test_two_processes_cannot_have_more_hard_answers_than_were_paid_for(tmp_path: Path) -> None:
    mechanism = SparseVector.of(1, T, 40, questions=1000)
    opened(mechanism, tmp_path)
    command = [sys.executable, "-c", RACE, str(tmp_path), json.dumps(described(mechanism))]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sum(int(run.communicate()[0]) for run in runs) == 40
