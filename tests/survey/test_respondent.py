"""What a device allows: how much may be lost, to whom, and whose word it takes."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from doubles import Seeded
from survey.surveyed import ONE, Survey, draft, forgetful, sent

from discreet.errors import Refusal
from discreet.ledger.entry_kinds import canonical
from discreet.ledger.signed_head import public_part
from discreet.local import DuchiMean, LocalHashing, Rappor, Response
from discreet.privacy import Pure
from discreet.survey.device_memory import Memory
from discreet.survey.respondent import Respondent
from discreet.survey.results import Results, read_results
from discreet.survey.task import Task
from discreet.transport.device_client import Unreached
from discreet.transport.signed_task import UploadReceipt
from discreet.transport.signing_keys import Handover

KEY = Ed25519PrivateKey.generate()


class Hand:
    """Carries to a collector at an address; it may refuse some tasks."""

    def __init__(self, survey: Survey, address: str) -> None:
        self.survey, self.address = survey, address
        self.sent: list[tuple[str, bytes, str | None]] = []
        self.refuses: set[str] = set()

    def task(self, name: str, /) -> bytes:
        return self.survey.collector.task(name).document

    def handovers(self) -> Sequence[Handover]:
        return self.survey.collector.handovers()

    def send(self, name: str, body: bytes, token: str | None, /) -> UploadReceipt:
        self.sent.append((name, body, token))
        if name in self.refuses:
            raise Unreached("nobody answers there")
        return self.survey.collector.receive(name, body, token)


@pytest.fixture
def me(tmp_path: Path) -> Respondent:
    return Respondent(tmp_path / "me")


@pytest.mark.parametrize(
    "changes",
    [
        {"domain": ("Revolver", "Abbey Road", "Help!", "Let It Be")},
        {"mechanism": {"name": "optimized-unary", "parameters": {"epsilon": "2", "choices": 4}}},
        {"mechanism": {"name": "response", "parameters": {"epsilon": "1", "choices": 4}}},
    ],
)
def test_a_task_that_asks_otherwise_than_at_first_is_refused(changes: dict[str, object], me: Respondent) -> None:
    """Another order, a higher price: each would be a fresh draw on the same answer."""
    task = draft()
    me.answer(task, 1)
    other: Task = replace(task, version=2, **changes)  # type: ignore[arg-type]
    with pytest.raises(Refusal, match="asks something else than at first"):
        me.answer(other, 1)
    assert me.loss(task) == me.loss(other) == Pure(1)
    me.answer(other, 1, most=Pure(5))  # the person says so
    assert me.loss(task) == me.loss(other) == Pure(1) + other.client.privacy
    me.answer(other, 1)  # and then it is the one that is remembered


def test_more_reports_in_a_later_version_are_not_more_draws(me: Respondent) -> None:
    task = draft(LocalHashing(ONE, 5), reports=2)
    me.answer(task, 1)
    me.answer(task, 1, afresh=True)
    more = replace(task, version=2, reports=1000)
    assert sent(me.answer(more, 1).body, more)[1] == sent(me.answer(task, 1).body, task)[1]
    with pytest.raises(Refusal, match=r"lose more than epsilon=\S+, which its first document asked for"):
        me.answer(more, 1, afresh=True)
    assert me.loss(task) == Pure(2)
    me.answer(more, 1, afresh=True, most=Pure(3))
    with pytest.raises(Refusal, match="another draw would lose more than"):
        me.answer(more, 1, afresh=True)
    assert me.loss(task) == Pure(3)


def test_a_limit_holds_for_everything_that_is_ever_asked(tmp_path: Path) -> None:
    me = Respondent(tmp_path / "me", limit=Pure(Fraction(5, 2)))
    tasks = [replace(draft(LocalHashing(ONE, 5)), question=f"Which album, {i}?") for i in range(4)]
    for task in tasks[:2]:
        me.answer(task, 1)
    for task in tasks[2:]:
        with pytest.raises(Refusal, match=r"lose more than epsilon=\S+, the limit of this device"):
            me.answer(task, 1, most=Pure(100))
    assert (me.lost(), me.pending()[0].id) == (Pure(2), tasks[0].id)
    same = replace(tasks[0], id="1" * 32)  # the same question elsewhere gets the same draw
    assert sent(me.answer(same, 2).body, same)[1] == sent(me.pending()[0].body, tasks[0])[1]
    assert (me.lost(), me.loss(same)) == (Pure(2), Pure(1))
    again = Respondent(tmp_path / "me", limit=Pure(2))
    with pytest.raises(Refusal, match="limit of this device"):
        again.answer(tasks[2], 1)


def test_what_a_device_tells_is_on_the_disk_and_what_it_deletes_is_not_however_sqlite_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the folder, so that no answer is forgotten with the power: 3 is `EXTRA`."""
    forgetful(monkeypatch)
    with Memory(tmp_path / "me").transaction() as file:
        asked = {"synchronous": 3, "fullfsync": 1, "secure_delete": 1}
        assert {name: file.execute(f"PRAGMA {name}").fetchone()[0] for name in asked} == asked


def test_the_file_of_a_device_keeps_no_mark_of_a_text(tmp_path: Path) -> None:
    """Two texts, the same coins, and one report that both send, as every other pair does: the files are equal."""
    client = Rappor(Fraction(1, 10**6), 1, 1, 1)
    task = replace(draft(client), id="0" * 32)
    alike = 0
    for i in range(40):  # fewer than three alike have a probability of 8e-10
        files = []
        for text in ("cat", "dog"):
            path = tmp_path / f"{text}{i}"
            body = Respondent(path, rng=Seeded(i)).answer(task, text).body
            files.append((sent(body, task)[1].tobytes(), path.read_bytes()))
        if files[0][0] == files[1][0]:
            alike += 1
            assert files[0][1] == files[1][1]
        if alike == 3:
            break
    assert alike == 3


def test_a_key_from_elsewhere_does_not_undo_a_handover(tmp_path: Path, me: Respondent) -> None:
    survey = Survey(tmp_path, minimum=1)
    name, pinned = survey.task.id, survey.task.key
    assert me.trust(survey.task.document, name, key=pinned) == survey.task
    survey.collector.rotate()
    second = survey.collector.revise(name, minimum=2)
    chain = survey.collector.handovers()
    assert me.trust(second.document, name, key=pinned, handovers=chain) == second
    forged = replace(second, version=3, question="Which album did you steal?")
    with pytest.raises(Refusal, match="signed by a stranger"):  # by the old key, whoever holds it now
        me.trust(survey.task.document, name, key=pinned, handovers=chain)
    with pytest.raises(Refusal, match="signed by a stranger"):
        me.trust(forged.sign(KEY).document, name, key=pinned, handovers=chain)
    with pytest.raises(Refusal, match="signed by a stranger"):  # a right key comes from the one that was seen as well
        me.trust(second.document, name, key=forged.sign(KEY).key, handovers=chain)


def test_there_is_no_way_back_to_an_older_version_nor_to_another_document(me: Respondent) -> None:
    first = draft().sign(KEY)
    second, other = (replace(first, version=2, minimum=least).sign(KEY) for least in (11, 12))
    me.trust(second.document, first.id)
    assert me.trust(second.document, first.id) == second
    for back in (first, other):
        with pytest.raises(Refusal, match="not the document that was seen last, version"):
            me.trust(back.document, first.id)
    third = replace(first, version=3).sign(KEY)
    assert me.trust(third.document, first.id) == third


def test_what_is_pending_goes_to_its_own_server_with_its_own_token(tmp_path: Path, me: Respondent) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a, b = (Hand(Survey(tmp_path / name, invited=True, minimum=1), f"https://{name}.example") for name in "ab")
    second = a.survey.collector.publish(draft(invited=True, minimum=1, closes="2027-05-01T00:00:00Z"))
    tokens = {
        name: hand.survey.collector.invite(name, 1)[0]
        for hand, name in ((a, a.survey.task.id), (a, second.id), (b, b.survey.task.id))
    }
    for hand in (a, b):
        hand.refuses = set(tokens)
        for name in (hand.survey.task.id, second.id) if hand is a else (hand.survey.task.id,):
            with pytest.raises(Unreached):
                me.take_part(hand, name, 1, token=tokens[name], most=Pure(9))
    a.sent.clear()
    b.sent.clear()
    a.refuses, b.refuses = {a.survey.task.id}, set()
    assert me.deliver(a) == [UploadReceipt(accepted=1)]  # the first failed, and the second went all the same
    assert [(name, token) for name, _, token in a.sent] == [(name, tokens[name]) for name in list(tokens)[:2]]
    assert me.deliver(b) == [UploadReceipt(accepted=1)]
    assert [(name, token) for name, _, token in b.sent] == [(b.survey.task.id, tokens[b.survey.task.id])]
    assert [each.id for each in me.pending()] == [a.survey.task.id]
    a.refuses = set()
    assert me.deliver(a) == [UploadReceipt(accepted=1)]
    content = (tmp_path / "me").read_bytes()
    assert not any(token.encode() in content for token in tokens.values())


def test_results_are_those_of_the_task_and_of_its_signer(tmp_path: Path) -> None:
    survey = Survey(tmp_path, Response(ONE, 5), minimum=5)
    task = survey.task
    survey.send([1] * 20)
    survey.collector.rotate()
    survey.collector.close(task.id)
    found, chain = survey.collector.collect(task.id), survey.collector.handovers()
    assert read_results(found.document, task=task, key=task.key, handovers=chain) == found
    with pytest.raises(Refusal, match="signed by a stranger"):
        read_results(found.document, task=task)
    with pytest.raises(Refusal, match="results of another task"):
        read_results(_signed(dict(found.body)), task=replace(task, version=2).sign(KEY))
    with pytest.raises(Refusal, match="signed by a stranger"):
        read_results(_signed(dict(found.body)), task=task, handovers=chain)
    mine = task.sign(KEY)
    right: dict[str, object] = {**found.body, "task": mine.digest.hex()}
    assert read_results(_signed(right), task=mine).body["reports"] == 20
    wrong: list[dict[str, object]] = [{"reports": 21}, {"estimates": []}, {"version": 2}, {"tally": "00"}]
    wrong += [{"task": "0" * 64}, {"id": "0" * 32}, {"estimates": [*found.body["estimates"]] * 2}]
    wrong += [{"estimates": [{**row, "count": text} for row in found.body["estimates"]]} for text in ("1e9", "x", 5)]
    promise = found.body["promise"]
    wrong += [{"promise": {**promise, "local": {"epsilon": "1/2"}}}]  # not what the task says
    wrong += [{"promise": {**promise, "shuffled": {**promise["shuffled"], "honest": 21}}}]
    for change in wrong:
        with pytest.raises(Refusal, match="results of another task"):
            read_results(_signed({**right, **change}), task=mine)
    spoilt: list[dict[str, object]] = [{"reports": "20"}, {"more": 1}, {"estimates": [1]}, {"promise": {}}]
    spoilt += [{"rejected": {"late": "1"}}]
    for each in spoilt:
        with pytest.raises(Refusal, match="no signed results"):
            read_results(_signed({**found.body, **each}))
    few = replace(task, minimum=21).sign(KEY)
    with pytest.raises(Refusal, match="results of another task"):
        read_results(_signed({**found.body, "task": few.digest.hex()}), task=few)


def test_results_of_the_first_format_still_open(tmp_path: Path) -> None:
    """They say nothing of dishonest reports, and their means had error bars of another kind: both are made again."""
    survey = Survey(tmp_path, DuchiMean(Fraction(1)))
    survey.send(np.zeros(20))
    survey.collector.close(survey.task.id)
    found, mine = survey.collector.collect(survey.task.id), survey.task.sign(KEY)
    body = {name: value for name, value in found.body.items() if name != "honesty"}
    (row,) = body["estimates"]
    old = {"mean": row["mean"], "error": "0.5", "low": "-0.9", "high": "0.9"}
    body |= {"format": "discreet-results-1", "task": mine.digest.hex(), "estimates": [old]}
    read = read_results(_signed(body), task=mine)
    assert read.dishonest is None
    assert read.estimates == [{name: row[name] for name in ("mean", "error", "low", "high")}]
    with pytest.raises(Refusal, match="results of another task"):
        read_results(_signed({**body, "estimates": [{**old, "mean": "0.123"}]}), task=mine)
    nonsense: list[object] = [{}, {"dishonest": "0"}, {"dishonest": 0, "total": 1}, {"dishonest": 0, "more": "1"}, []]
    for wrong in nonsense:
        with pytest.raises(Refusal, match="no signed results"):
            read_results(_signed({**found.body, "honesty": wrong}))
    with pytest.raises(Refusal, match="results of another task"):
        read_results(_signed({**found.body, "task": mine.digest.hex(), "honesty": {"dishonest": 3}}), task=mine)


def _signed(body: dict[str, object]) -> bytes:
    """By somebody else."""
    unsigned = {**{name: value for name, value in body.items() if name != "signature"}, "key": public_part(KEY)}
    whole = {**unsigned, "signature": KEY.sign(Results(unsigned).signed).hex()}
    return canonical(whole)  # type: ignore[arg-type]


def test_a_task_does_not_get_what_others_drew_later(me: Respondent) -> None:
    """Two surveys of one question: what is drawn afresh for one is no second draw for the other."""
    one, many = draft(LocalHashing(ONE, 5)), draft(LocalHashing(ONE, 5), reports=3)
    body = me.answer(one, 1).body
    for _ in range(2):
        me.answer(many, 1, afresh=True)
    assert me.answer(one, 1).body == body
    again = replace(one, version=2)
    assert sent(me.answer(again, 1).body, again)[1] == sent(body, one)[1]
    assert (me.loss(one), me.loss(many), me.lost()) == (Pure(1), Pure(2), Pure(3))


def test_a_draw_that_another_task_got_counts_for_this_one_as_well(me: Respondent) -> None:
    elsewhere = replace(draft(LocalHashing(ONE, 5)), question="Which song?")
    me.answer(elsewhere, 1)
    task = draft(LocalHashing(ONE, 5))
    me.answer(task, 1)
    other = replace(task, version=2, question="Which song?")
    with pytest.raises(Refusal, match="another draw would lose more than"):
        me.answer(other, 1, most=Pure(1))
    assert me.loss(task) == Pure(1)
    assert sent(me.answer(other, 1, most=Pure(2)).body, other)[1] == sent(me.pending()[0].body, elsewhere)[1]
    assert (me.loss(task), me.lost()) == (Pure(2), Pure(2))


def test_a_token_is_not_kept_again_after_its_receipt(tmp_path: Path, me: Respondent) -> None:
    hand = Hand(Survey(tmp_path, invited=True, minimum=1), "https://a.example")
    (token,) = hand.survey.collector.invite(hand.survey.task.id, 1)
    assert me.take_part(hand, hand.survey.task.id, 1, token=token) == UploadReceipt(accepted=1)
    hand.refuses = {hand.survey.task.id}
    with pytest.raises(Unreached):
        me.take_part(hand, hand.survey.task.id, 1, token=token)
    assert token.encode() not in (tmp_path / "me").read_bytes()
    assert me.pending() == []


def test_a_process_that_forks_while_a_device_writes_goes_on(me: Respondent) -> None:
    inside, leave = threading.Event(), threading.Event()

    def write() -> None:
        with me._memory.transaction():
            inside.set()
            leave.wait(30)

    writing, leaving = threading.Thread(target=write), threading.Timer(0.1, leave.set)
    writing.start()
    assert inside.wait(30)
    leaving.start()
    child = multiprocessing.get_context("fork").Process(target=me.lost)
    child.start()
    child.join(30)
    if child.is_alive():
        child.kill()
    child.join()
    writing.join()
    assert child.exitcode == 0
