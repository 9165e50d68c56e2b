"""What a device tells one collector: no more than its owner allows, over all questions and however they are spelled."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from survey.surveyed import draft, sent

from discreet.errors import Refusal
from discreet.ledger.signed_head import public_part
from discreet.privacy import Pure
from discreet.survey.respondent import Respondent
from discreet.transport.signing_keys import Handover, handed_over

KEY = Ed25519PrivateKey.generate()


@pytest.fixture
def me(tmp_path: Path) -> Respondent:
    return Respondent(tmp_path / "me")


SPELLINGS = (
    "Which album? ", " Which album?", "Which  album?", "which album?", "WHICH ALBUM?", "Which\u00a0album?",
    "Which album?\u200b", "Which\talbum?", "Ｗhich album?", "Whi\u00adch album?",
)  # fmt: skip


@pytest.mark.parametrize("question", SPELLINGS)
def test_another_spelling_gets_no_other_draw(question: str, me: Respondent) -> None:
    """Neither in the same task, which is refused unless somebody says otherwise, nor in another one."""
    task = draft()
    report = sent(me.answer(task, 1).body, task)[1]
    version = replace(task, version=2, question=question)
    with pytest.raises(Refusal, match="asks something else than at first"):
        me.answer(version, 1)
    another = replace(task, id="2" * 32, question=question, domain=tuple(f"{label} " for label in task.domain))
    for other in (another, version):
        assert sent(me.answer(other, 2, most=Pure(5)).body, other)[1] == report
    assert me.lost() == me.gauge(task).lost == Pure(1)


def test_another_question_is_another_question() -> None:
    task = draft()
    others = ("Which album", "Which albums?", "Which album? Why?", "कि", "का")
    assert len({replace(task, question=each).meant for each in (task.question, *others)}) == len(others) + 1


def test_one_who_asks_forty_one_times_is_told_what_the_limit_allows(tmp_path: Path) -> None:
    """Forty-one questions that mean one thing to people: a majority of the answers is the truth, if all are told."""
    draws = 0
    for person in range(4):
        me, truth = Respondent(tmp_path / f"{person}"), person % 4
        for i in range(41):
            task = replace(draft(), id=f"{i:032x}", question=f"Which album{'?' * (i + 1)}").sign(KEY)
            if i < 5:
                me.answer(task, truth)
                draws += 1
                continue
            with pytest.raises(Refusal, match="this device tells one collector"):
                me.answer(task, truth)
        assert str(me.gauge(task)) == "5 of 5"
        assert me.gauge(task).left == Pure(0)
    assert draws == 4 * 5


def test_a_limit_is_the_persons_and_is_remembered(tmp_path: Path) -> None:
    me = Respondent(tmp_path / "me")
    tasks = [replace(draft(), id=f"{i:032x}", question=f"Album {i}?").sign(KEY) for i in range(4)]
    me.set_limit(Pure(Fraction(3, 2)))
    me.answer(tasks[0], 1)
    for again in (me, Respondent(tmp_path / "me", limit=Pure(100))):
        with pytest.raises(Refusal, match=r"was told 1 of 1\.5 that this device tells one collector"):
            again.answer(tasks[1], 1, most=Pure(100))
    assert me.answer(tasks[0], 2) == me.pending()[0]  # what was told before may be told again
    me.set_limit(Pure(3))
    for task in tasks[1:3]:
        me.answer(task, 1)
    with pytest.raises(Refusal, match="3 of 3"):
        me.answer(tasks[3], 1)
    me.set_limit(Pure(1))
    assert (me.gauge(tasks[0]).left, me.gauge(tasks[0]).lost) == (Pure(0), Pure(3))
    assert me.pending()


def test_a_collector_is_its_keys_wherever_it_is(tmp_path: Path) -> None:
    """Another address changes nothing, and neither does a key that was handed over; a key of nobody known is new."""
    old, new, stranger = (Ed25519PrivateKey.generate() for _ in range(3))
    me, chain = Respondent(tmp_path / "me"), [handed_over(old, new)]
    me.set_limit(Pure(2))
    tasks = [replace(draft(), id=f"{i:032x}", question=f"Album {i}?") for i in range(5)]
    first = tasks[0].sign(old)
    me.answer(me.trust(first.document, first.id), 1)
    second = tasks[1].sign(new)
    me.answer(second, 1)  # nobody said yet that these two are one
    assert me.gauge(first).lost == me.gauge(second).lost == Pure(1)
    me.trust(second.document, second.id, handovers=chain)
    assert me.gauge(first).lost == me.gauge(second).lost == Pure(2)
    third = tasks[2].sign(new)
    with pytest.raises(Refusal, match="2 of 2"):
        me.answer(me.trust(third.document, third.id, handovers=chain), 1)
    with pytest.raises(Refusal, match="2 of 2"):
        me.answer(tasks[3].sign(old), 1)
    claimed = [Handover(public_part(old), public_part(stranger), handed_over(stranger, old).signature)]
    other = tasks[4].sign(stranger)
    me.answer(me.trust(other.document, other.id, handovers=claimed), 1)  # a new key is somebody else
    assert (me.gauge(other).lost, me.gauge(first).lost) == (Pure(1), Pure(2))


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_keys_of_one_collector_are_added_up_in_whatever_order_they_sign(order: tuple[int, ...], tmp_path: Path) -> None:
    """A key and the two it handed over to, one after the other or both: whichever comes first, the limit is one."""
    keys = [Ed25519PrivateKey.generate() for _ in range(3)]
    for chain in ([handed_over(keys[0], keys[1]), handed_over(keys[1], keys[2])],
                  [handed_over(keys[0], keys[1]), handed_over(keys[0], keys[2])]):  # fmt: skip
        me = Respondent(tmp_path / public_part(Ed25519PrivateKey.generate()))
        me.set_limit(Pure(2))
        tasks = [replace(draft(), id=f"{i:032x}", question=f"Album {i}?").sign(keys[i]) for i in order]
        for task in tasks[:2]:
            me.answer(me.trust(task.document, task.id, handovers=chain), 1)
        with pytest.raises(Refusal, match="2 of 2"):
            me.answer(me.trust(tasks[2].document, tasks[2].id, handovers=chain), 1)


def test_what_an_older_file_told_is_counted(tmp_path: Path) -> None:
    me = Respondent(tmp_path / "me")
    task = draft().sign(KEY)
    me.answer(me.trust(task.document, task.id), 1)
    with closing(sqlite3.connect(tmp_path / "me")) as file:
        for name in ("told", "signer", "setting", "meaning"):  # as it was before there were limits
            file.execute(f"DROP TABLE {name}")
    again = Respondent(tmp_path / "me")
    assert again.gauge(task).lost == Pure(1)
    assert sent(again.answer(task, 2).body, task)[1] == sent(me.pending()[0].body, task)[1]
