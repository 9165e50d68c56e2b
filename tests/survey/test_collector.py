"""The collector: each report counts once, nothing else counts, and nothing is said too early or twice."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from survey.surveyed import ALBUMS, ONE, Survey, draft, sent

from discreet.errors import Refusal
from discreet.ledger.signed_head import signing_key
from discreet.local import Hadamard, HybridMean, LocalHashing, OptimizedUnary, Reporter, Response, VectorMean
from discreet.local.local_mechanism import Tally
from discreet.survey.collector import Collector
from discreet.survey.intake import Seen
from discreet.survey.results import read_results
from discreet.survey.shuffle import Shuffler
from discreet.survey.task import HEAD, LARGEST, fresh_ids, most, packed
from discreet.transport.signed_task import Uninvited, Unknown, UploadReceipt

CLIENTS: list[Reporter] = [
    Response(ONE, 5),
    OptimizedUnary(ONE, 20),
    Hadamard(ONE, 5),
    LocalHashing(ONE, 5),
    HybridMean(ONE, 0 * ONE, 24 * ONE),
    VectorMean(3 * ONE, 4),
]


def tally(survey: Survey) -> Tally:
    survey.collector.close(survey.task.id)
    return survey.collector.collect(survey.task.id).tally


@pytest.mark.parametrize("client", CLIENTS)
def test_the_sums_are_those_of_all_reports(client: Reporter, tmp_path: Path) -> None:
    survey = Survey(tmp_path, client, minimum=50)
    values: Any = np.zeros((30, 4)) if isinstance(client, VectorMean) else np.arange(30) % 5
    bodies = [survey.upload(values) for _ in range(5)]
    assert [survey.receive(body) for body in bodies] == [UploadReceipt(accepted=30)] * 5
    reports = np.concatenate([sent(body, survey.task)[1] for body in bodies])
    assert tally(survey) == client.tally(reports)


def test_a_report_counts_once_however_often_it_comes(tmp_path: Path) -> None:
    survey = Survey(tmp_path)
    first, second = survey.upload([0, 1, 2]), survey.upload([3] * 9)
    both = packed_again(survey, first, second)
    assert survey.receive(first) == UploadReceipt(accepted=3)
    assert survey.receive(first) == UploadReceipt(replayed=3)
    assert survey.reopened().receive(first) == UploadReceipt(replayed=3)
    assert survey.receive(both) == UploadReceipt(accepted=9, replayed=3)
    assert survey.receive(second) == UploadReceipt(replayed=9)
    assert survey.counts == {"accepted": 12, "replayed": 18}
    reports = np.concatenate([sent(body, survey.task)[1] for body in (first, second)])
    assert tally(survey) == survey.task.client.tally(reports)
    assert survey.receive(first) == UploadReceipt(replayed=3)  # who missed the receipt hears that it arrived


def packed_again(survey: Survey, *bodies: bytes) -> bytes:
    parts = [sent(body, survey.task) for body in bodies]
    ids = np.frombuffer(b"".join(part[0] for part in parts), dtype="S16")
    return packed(survey.task, ids, np.concatenate([part[1] for part in parts]))


def test_of_an_id_that_stands_twice_in_one_upload_the_first_counts(tmp_path: Path) -> None:
    survey = Survey(tmp_path, Response(ONE, 5), minimum=1)
    ids = np.frombuffer(b"a" * 16 + b"b" * 15 + b"\0" + b"b" * 16 + b"a" * 16, dtype="S16")
    assert survey.receive(packed(survey.task, ids, np.array([1, 2, 3, 4], dtype=np.uint8))) == UploadReceipt(
        accepted=3, replayed=1
    )
    assert tally(survey).counts.tolist() == [0, 1, 1, 1, 0]


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda _: b"",
        lambda body: body[:-1],
        lambda body: body + b"\0",
        lambda body: b"DSR2" + body[4:],
        lambda body: body[:HEAD],
        lambda body: body[: HEAD - 4] + b"\0\0\0\0",
        lambda body: body[: HEAD - 4] + b"\xff\xff\xff\xff" + body[HEAD:],
        lambda body: os.urandom(len(body)),
    ],
)
def test_what_is_no_upload_is_counted_once_and_changes_nothing(
    spoilt: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    survey = Survey(tmp_path)
    body = survey.upload([0] * 12)
    assert survey.receive(spoilt(body)) == UploadReceipt(malformed=1)
    assert survey.counts == {"malformed": 1}
    assert survey.receive(body) == UploadReceipt(accepted=12)


def test_reports_that_no_client_sends_are_refused_one_by_one(tmp_path: Path) -> None:
    survey = Survey(tmp_path, Response(ONE, 5), minimum=1)
    body = survey.upload([1] * 10)
    spoilt = bytearray(body)
    for place in (0, 7):
        spoilt[HEAD + 17 * place + 16] = 5  # the values are 0 to 4
    assert survey.receive(bytes(spoilt)) == UploadReceipt(accepted=8, malformed=2)
    assert survey.receive(body) == UploadReceipt(accepted=2, replayed=8)  # a spoilt report does not use up its id


def test_reports_of_another_task_or_version_are_refused(tmp_path: Path) -> None:
    survey = Survey(tmp_path)
    other = survey.collector.publish(draft())
    assert survey.receive(survey.upload([0] * 3, other)) == UploadReceipt(wrong_task=3)
    old = survey.upload([1] * 4)
    second = survey.collector.revise(survey.task.id, minimum=20)
    assert (second.version, second.minimum, second.genuine()) == (2, 20, True)
    assert survey.receive(old) == UploadReceipt(wrong_task=4)
    lying = bytearray(old)
    lying[HEAD - 4 : HEAD] = b"\xff\xff\xff\xff"
    assert survey.receive(bytes(lying)).wrong_task <= 4  # nobody makes a counter jump
    assert survey.collector.task(survey.task.id, 1) == survey.task
    with pytest.raises(Refusal, match="expected version 3"):
        survey.collector.publish(replace(second, version=5))


def test_a_report_that_is_early_or_late_is_refused(tmp_path: Path) -> None:
    survey = Survey(tmp_path)
    body, more = survey.upload([0] * 12), survey.upload([1])
    survey.clock.pass_(days=-9, seconds=-1)
    assert survey.receive(body) == UploadReceipt(early=12)
    survey.clock.pass_(seconds=1)
    assert survey.receive(body) == UploadReceipt(accepted=12)  # what came too early may come again
    survey.clock.pass_(days=31, seconds=-1)
    assert survey.send([2]) == UploadReceipt(accepted=1)
    survey.clock.pass_(seconds=1)
    assert survey.receive(more) == UploadReceipt(late=1)
    assert survey.counts == {"early": 12, "accepted": 13, "late": 1}


def test_a_closed_task_takes_no_more(tmp_path: Path) -> None:
    survey = Survey(tmp_path)
    survey.send([0] * 12)
    survey.collector.close(survey.task.id)
    assert survey.send([1]) == UploadReceipt(late=1)
    assert survey.collector.standing(survey.task.id).closed
    assert tally(survey).people == 12


def test_a_token_limits_the_reports_of_a_person(tmp_path: Path) -> None:
    survey = Survey(tmp_path, reports=3, invited=True)
    ann, bob = survey.collector.invite(survey.task.id, 2)
    first = survey.upload([0, 1])
    assert survey.receive(first, ann) == UploadReceipt(accepted=2)
    assert survey.receive(first, ann) == UploadReceipt(replayed=2)  # sending again uses nothing up
    assert survey.send([2, 3, 3], ann) == UploadReceipt(accepted=1, over_limit=2)
    assert survey.reopened().send([2], ann) == UploadReceipt(over_limit=1)
    assert survey.send([1] * 3, bob) == UploadReceipt(accepted=3)
    for nobody in (None, "", "x" * 43, ann[:-1]):
        with pytest.raises(Uninvited):
            survey.send([1], nobody)
    assert survey.counts == {"accepted": 6, "replayed": 2, "over_limit": 3, "uninvited": 4}
    revised = survey.collector.revise(survey.task.id, minimum=5)  # who was invited stays invited
    assert survey.receive(survey.upload([1], revised), ann) == UploadReceipt(accepted=1)


def test_there_are_no_tokens_of_an_open_task(tmp_path: Path) -> None:
    survey = Survey(tmp_path)
    with pytest.raises(Refusal, match="open to everybody"):
        survey.collector.invite(survey.task.id, 2)


def test_a_task_that_is_full_takes_no_more(tmp_path: Path) -> None:
    survey = Survey(tmp_path, most=12)
    assert survey.send([0] * 10) == UploadReceipt(accepted=10)
    assert survey.send([0] * 5) == UploadReceipt(accepted=2, full=3)
    assert survey.send([0]) == UploadReceipt(full=1)
    assert tally(survey).people == 12


def test_an_open_task_takes_as_many_reports_as_its_document_says(tmp_path: Path) -> None:
    survey = Survey(tmp_path, most=1 << 20)
    few = survey.collector.publish(draft(most=12))
    for times, receipt in (
        (10, UploadReceipt(accepted=10)),
        (5, UploadReceipt(accepted=2, full=3)),
        (1, UploadReceipt(full=1)),
    ):
        assert survey.collector.receive(few.id, survey.upload([0] * times, few)) == receipt
    size = (tmp_path / "surveys.db").stat().st_size
    for _ in range(20):  # whoever goes on fills nothing
        assert survey.collector.receive(few.id, survey.upload([1] * 500, few)) == UploadReceipt(full=500)
    assert (tmp_path / "surveys.db").stat().st_size == size
    assert survey.collector.standing(few.id).counts["full"] == 10_004
    survey.collector.close(few.id)
    assert survey.collector.collect(few.id).tally.people == 12


def test_nothing_is_said_before_there_are_enough_honest_reports(tmp_path: Path) -> None:
    survey = Survey(tmp_path, minimum=20, dishonest=5)
    survey.send([0] * 24)
    with pytest.raises(Refusal, match="takes reports until"):
        survey.collector.collect(survey.task.id)
    survey.clock.pass_(days=60)
    with pytest.raises(Refusal, match="fewer reports than this task needs") as few:
        survey.collector.collect(survey.task.id)
    assert "24" not in str(few.value)
    with pytest.raises(Unknown, match="no results yet"):
        survey.collector.results(survey.task.id)
    survey.clock.pass_(days=-55)
    survey.send([0])
    survey.clock.pass_(days=55)
    found = survey.collector.collect(survey.task.id).body
    assert (found["reports"], found["promise"]["shuffled"]["honest"]) == (25, 20)


def test_fewer_than_a_batch_are_never_in_the_sums(tmp_path: Path) -> None:
    survey = Survey(tmp_path, Response(ONE, 5), minimum=20)
    people = []
    for _ in range(7):
        survey.send([1] * 9)
        people.append(kept(survey).people)
    assert people == [0, 0, 27, 27, 27, 54, 54]
    assert tally(survey).people == 63  # at the end they join


def kept(survey: Survey) -> Tally:
    with closing(sqlite3.connect(survey.home / "surveys.db")) as file:
        return Tally.decode(file.execute("SELECT tally FROM collection").fetchone()[0])


def test_results_are_made_once_and_stay(tmp_path: Path) -> None:
    survey = Survey(tmp_path)
    survey.send(np.repeat([0, 1, 2, 3], [400, 300, 200, 100]))
    survey.send([0] * 2)
    survey.collector.close(survey.task.id)
    found = survey.collector.collect(survey.task.id)
    assert found.genuine()
    assert read_results(found.document) == found
    body, client = found.body, survey.task.client
    guess = client.estimate(found.tally)  # type: ignore[attr-defined]
    assert [row["label"] for row in body["estimates"]] == list(ALBUMS)
    assert [float(row["count"]) for row in body["estimates"]] == guess.counts.tolist()
    assert [float(row["error"]) for row in body["estimates"]] == guess.errors.tolist()
    promise = Shuffler(10).promise(client, 1002)
    assert body["promise"]["local"] == {"epsilon": "1"}
    assert body["promise"]["shuffled"] == {
        "epsilon": str(promise.shuffled.epsilon), "delta": str(promise.shuffled.delta), "honest": 1002
    }  # fmt: skip
    survey.send([1])
    survey.clock.pass_(days=9)
    survey.collector.rotate()
    assert survey.collector.collect(survey.task.id).document == found.document
    assert survey.reopened().collector.results(survey.task.id).document == found.document
    with pytest.raises(Refusal, match="no signed results"):
        read_results(found.document.replace(b'"reports":1002', b'"reports":1003'))


@pytest.mark.parametrize("client", [HybridMean(ONE, 0 * ONE, 24 * ONE), VectorMean(3 * ONE, 4)])
def test_means_are_collected(client: Reporter, tmp_path: Path) -> None:
    survey = Survey(tmp_path, client)
    survey.send(np.full((100, 4), 0.5) if isinstance(client, VectorMean) else np.full(100, 7.5))
    survey.collector.close(survey.task.id)
    rows = survey.collector.collect(survey.task.id).body["estimates"]
    assert len(rows) == (4 if isinstance(client, VectorMean) else 1)
    assert all(float(row["low"]) <= float(row["mean"]) <= float(row["high"]) for row in rows)


def test_collecting_goes_on_where_it_was_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = Survey(tmp_path)
    survey.send([0] * 15)
    survey.send([0] * 3)
    survey.collector.close(survey.task.id)
    with monkeypatch.context() as cut:
        cut.setattr("discreet.survey.collector.results", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            survey.collector.collect(survey.task.id)
    survey.clock.pass_(days=-3)
    assert survey.send([1]) == UploadReceipt(late=1)  # closed for good
    assert survey.reopened().collector.collect(survey.task.id).tally.people == 18


def test_a_new_key_signs_and_what_the_old_one_signed_stays_signed(tmp_path: Path) -> None:
    survey = Survey(tmp_path)
    given = survey.collector.rotate()
    second = survey.collector.revise(survey.task.id, minimum=11)
    third_key = survey.reopened().collector.rotate()
    third = survey.collector.publish(draft())
    assert (survey.task.key, second.key, third.key) == (given.old, given.new, third_key.new)
    assert given.new == third_key.old
    assert survey.collector.task(survey.task.id, 1).genuine()
    assert survey.collector.handovers() == [given, third_key]


def test_a_change_of_keys_that_was_cut_off_is_finished_or_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = Survey(tmp_path)
    with monkeypatch.context() as cut:
        cut.setattr("discreet.durable.move", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            survey.collector.rotate()  # committed, not in place
    (given,) = survey.reopened().collector.handovers()
    assert survey.collector.publish(draft()).key == given.new
    with monkeypatch.context() as cut:
        cut.setattr("discreet.transport.signing_keys.handed_over", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            survey.collector.rotate()  # made, not committed
    assert survey.reopened().collector.publish(draft()).key == given.new
    assert survey.collector.rotate().old == given.new


def test_a_lost_key_is_not_replaced_in_silence(tmp_path: Path) -> None:
    survey = Survey(tmp_path)
    for how in (Path.unlink, another_key):
        how(tmp_path / "surveys.key")
        with pytest.raises(Refusal, match="not the key that signs here"):
            survey.collector.publish(draft())


def another_key(path: Path) -> None:
    """In its place."""
    path.unlink(missing_ok=True)
    signing_key(path)


def test_a_home_without_surveys_has_none(tmp_path: Path) -> None:
    collector = Collector(tmp_path)
    assert (collector.tasks(), collector.handovers()) == ([], [])
    assert (collector.names(), collector.standings()) == ([], [])
    with pytest.raises(Unknown):
        collector.task("0" * 32)
    assert list(tmp_path.iterdir()) == []


def test_tasks_are_listed_in_their_newest_version(tmp_path: Path) -> None:
    survey = Survey(tmp_path)
    later = survey.collector.publish(draft(closes="2029-01-01T00:00:00Z"))
    second = survey.collector.revise(survey.task.id, minimum=5)
    assert survey.collector.tasks() == [later, second]
    assert [each.task for each in survey.collector.standings()] == [later, second]
    assert set(survey.collector.names()) == {later.id, second.id}


def test_an_upload_has_a_largest_size(tmp_path: Path) -> None:
    survey = Survey(tmp_path, Response(ONE, 5))
    many = most(survey.task)
    assert len(survey.upload(np.zeros(many, dtype=np.int64))) <= LARGEST
    with pytest.raises(Refusal, match="at most"):
        survey.upload(np.zeros(many + 1, dtype=np.int64))


def test_ids_are_remembered_whatever_they_are_and_however_many() -> None:
    seen, everything = Seen(), [fresh_ids(n) for n in (1, 1, 7, 1000, 3, 1, 5000, 2)]
    for ids in everything:
        assert seen.fresh(ids).all()
        seen.add(ids)
    assert len(seen) == 6015
    assert not any(seen.fresh(ids).any() for ids in everything)
    again = Seen([ids.tobytes() for ids in everything])
    assert not again.fresh(np.concatenate(everything)).any()
    assert again.fresh(fresh_ids(100)).all()
    odd = np.frombuffer(b"\0" * 16 + b"\0" * 15 + b"a" + b"a" + b"\0" * 15 + b"\xff" * 16 + b"\0" * 16, dtype="S16")
    assert Seen().fresh(odd).tolist() == [True, True, True, True, False]
    alike = np.array([b"all alike" + i.to_bytes(7, "big") for i in range(1, 4000)], dtype="S16")
    seen.add(alike[::2])
    assert seen.fresh(alike).tolist() == [False, True] * 1999 + [False]
    seen.add(alike[1::2])
    assert not seen.fresh(alike[::-1]).any()


def test_two_processes_take_in_the_same_reports_once(tmp_path: Path) -> None:
    survey = Survey(tmp_path, Response(ONE, 5), minimum=1)
    other = Collector(tmp_path, clock=survey.clock)
    bodies = [survey.upload([1] * 20) for _ in range(12)]
    found: list[UploadReceipt] = []

    def run(collector: Collector, order: int) -> None:
        found.extend(collector.receive(survey.task.id, body) for body in bodies[::order])

    threads = [threading.Thread(target=run, args=each) for each in ((survey.collector, 1), (other, -1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(each.accepted for each in found) == sum(each.replayed for each in found) == 240
    assert tally(survey).counts.sum() == 240
