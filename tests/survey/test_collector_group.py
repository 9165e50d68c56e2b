"""Uploads that come together: one transaction, and for each the receipt that it would have got alone."""

from __future__ import annotations

import multiprocessing
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from doubles import Seeded
from survey.surveyed import ONE, Clock, Survey, draft, sent

from discreet.errors import Refusal
from discreet.local import LocalHashing, Response
from discreet.noise import below
from discreet.survey.collector import Collector
from discreet.survey.intake import Sent
from discreet.survey.task import fresh_ids, packed
from discreet.transport.signed_task import Uninvited, Unknown, UploadReceipt


def transactions(home: Path) -> int:
    """How often the file was changed: SQLite counts it in its header."""
    return int.from_bytes((home / "surveys.db").read_bytes()[24:28], "big")


def twin(survey: Survey, folder: Path) -> Collector:
    """Another collector with the same task, tokens and keys."""
    shutil.copytree(survey.home, folder)
    return Collector(folder, clock=Clock(), most=12)


def told(collector: Collector, uploads: list[Sent]) -> list[UploadReceipt | str]:
    """One by one."""
    found: list[UploadReceipt | str] = []
    for upload in uploads:
        try:
            found.append(collector.receive(*upload))
        except Refusal as refused:
            found.append(type(refused).__name__)
    return found


def test_many_uploads_are_one_transaction(tmp_path: Path) -> None:
    survey = Survey(tmp_path, LocalHashing(ONE, 5), minimum=20)
    bodies = [survey.upload([i % 5]) for i in range(50)]
    before = transactions(tmp_path)
    assert survey.collector.take([Sent(survey.task.id, body) for body in bodies]) == [UploadReceipt(accepted=1)] * 50
    assert transactions(tmp_path) == before + 1
    assert survey.counts == {"accepted": 50}
    assert survey.collector.take([Sent(survey.task.id, body) for body in bodies]) == [UploadReceipt(replayed=1)] * 50
    survey.collector.close(survey.task.id)
    reports = np.concatenate([sent(body, survey.task)[1] for body in bodies])
    assert survey.collector.collect(survey.task.id).tally == survey.task.client.tally(reports)


@pytest.mark.parametrize("seed", range(4))
def test_receipts_are_those_of_uploads_that_come_alone(seed: int, tmp_path: Path) -> None:
    """Repeated, spoilt, of strangers, above the limit of a token or of the task, for another task: in any order."""
    (tmp_path / "one").mkdir()
    survey, rng = Survey(tmp_path / "one", Response(ONE, 5), most=12, reports=4, invited=True, minimum=7), Seeded(seed)
    other = survey.collector.publish(draft(Response(ONE, 3), minimum=3))
    tokens = [*survey.collector.invite(survey.task.id, 6), "stranger"]
    good = [survey.upload([below(5, rng=rng)] * (1 + below(3, rng=rng))) for _ in range(14)]
    twice = np.frombuffer((b"same" * 4) * 2, dtype="S16")
    good.append(packed(survey.task, twice, np.array([1, 2], dtype=np.uint8)))
    spoilt = [good[0][:-1], good[1][:-1] + b"\x09", b"nonsense"]
    elsewhere = packed(other, fresh_ids(3), other.client.batch([0, 1, 2]))
    uploads = [
        Sent(survey.task.id, (*good, *good, *spoilt, elsewhere)[below(34, rng=rng)], tokens[below(7, rng=rng)])
        for _ in range(40)
    ]
    uploads[:0] = [Sent(survey.task.id, body, tokens[0]) for body in (survey.upload([1] * 5), *spoilt, elsewhere)]
    uploads += [Sent(other.id, elsewhere), Sent("0" * 32, good[0]), Sent(other.id, elsewhere)]
    second = twin(survey, tmp_path / "two")
    alone = told(second, uploads)
    together = [
        each if isinstance(each, UploadReceipt) else type(each).__name__ for each in survey.collector.take(uploads)
    ]
    assert together == alone
    assert {"Uninvited", "Unknown"} <= set(alone)
    for task in (survey.task, other):
        assert survey.collector.standing(task.id).counts == second.standing(task.id).counts
        for collector in (survey.collector, second):
            collector.close(task.id)
    assert survey.collector.collect(survey.task.id).tally == second.collect(survey.task.id).tally
    assert (together[-3], together[-1]) == (UploadReceipt(accepted=3), UploadReceipt(replayed=3))
    assert {"full", "over_limit", "replayed", "malformed", "wrong_task"} <= {
        kind for kind, number in survey.counts.items() if number
    }


def test_who_is_refused_takes_nobody_with_them(tmp_path: Path) -> None:
    survey = Survey(tmp_path, invited=True, minimum=1)
    (token,) = survey.collector.invite(survey.task.id, 1)
    first, second, third = (survey.upload([1]) for _ in range(3))
    found = survey.collector.take(
        [Sent(survey.task.id, first), Sent("0" * 32, second, token), Sent(survey.task.id, third, token)]
    )
    assert [type(each) for each in found] == [Uninvited, Unknown, UploadReceipt]
    assert found[2] == UploadReceipt(accepted=1)
    assert survey.counts == {"accepted": 1, "uninvited": 1}


def test_a_process_that_forks_while_another_thread_takes_in_reports_goes_on(tmp_path: Path) -> None:
    survey = Survey(tmp_path, Response(ONE, 5), minimum=1)
    bodies = iter([survey.upload([1]) for _ in range(400)])
    stop = threading.Event()

    def receive() -> None:
        while not stop.is_set():
            survey.receive(next(bodies))

    thread = threading.Thread(target=receive)
    thread.start()
    fork = multiprocessing.get_context("fork")
    children = [fork.Process(target=survey.receive, args=(survey.upload([2]),)) for _ in range(6)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    stop.set()
    thread.join()
    assert [child.exitcode for child in children] == [0] * 6
    assert survey.counts["accepted"] == 400 - len(list(bodies)) + 6


def test_a_disk_that_fails_gives_nobody_a_receipt(tmp_path: Path) -> None:
    survey = Survey(tmp_path, minimum=1)
    uploads = [Sent(survey.task.id, survey.upload([i])) for i in range(3)]
    with closing(sqlite3.connect(tmp_path / "surveys.db")) as file:
        file.execute("CREATE TRIGGER full BEFORE UPDATE ON collection BEGIN SELECT RAISE(FAIL, 'disk'); END")
        with pytest.raises(Refusal, match="the surveys' file cannot be read"):
            survey.collector.take(uploads)
        file.execute("DROP TRIGGER full")
    assert survey.counts == {}
    assert (
        survey.collector.take(uploads) == [UploadReceipt(accepted=1)] * 3
    )  # memory did not learn what the disk has not


def test_ids_of_many_tasks_do_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.survey.collector._REMEMBERED", 25)
    survey = Survey(tmp_path, Response(ONE, 5))
    tasks = [survey.task, *(survey.collector.publish(draft(Response(ONE, 5))) for _ in range(3))]
    bodies = [survey.upload([1] * 10, task) for task in tasks]
    for _ in range(2):
        for task, body in zip(tasks, bodies, strict=True):
            survey.collector.receive(task.id, body)
    assert sum(len(ids) for _, ids in survey.collector._seen.values()) <= 25
    for task in tasks:
        counts = survey.collector.standing(task.id).counts
        assert (counts["accepted"], counts["replayed"]) == (10, 10)
    monkeypatch.setattr("discreet.survey.collector._TASKS", 1)
    assert survey.collector.take([Sent(task.id, body) for task, body in zip(tasks, bodies, strict=True)]) == [
        UploadReceipt(replayed=10)
    ] * len(tasks)
    assert len(survey.collector._seen) == 1


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE collection SET tally = x'00' WHERE digest = ?",
        "UPDATE task SET document = x'00' WHERE digest = ?",
        "DELETE FROM collection WHERE digest = ?",
    ],
)
def test_what_is_broken_in_one_task_is_not_the_fault_of_others(damage: str, tmp_path: Path) -> None:
    survey = Survey(tmp_path, Response(ONE, 5), minimum=3)
    other = survey.collector.publish(draft(Response(ONE, 5), minimum=3))
    with closing(sqlite3.connect(tmp_path / "surveys.db", isolation_level=None)) as file:
        file.execute(damage, (other.digest,))
    good, bad = [survey.upload([1] * 3) for _ in range(2)], survey.upload([2] * 3, other)
    uploads = [Sent(survey.task.id, good[0]), Sent(other.id, bad), Sent(survey.task.id, good[1]), Sent("0" * 32, bad)]
    found = survey.reopened().collector.take(uploads)
    assert [type(each) for each in found] == [UploadReceipt, Refusal, UploadReceipt, Unknown]
    assert (found[0], found[2]) == (UploadReceipt(accepted=3), UploadReceipt(accepted=3))
    assert survey.counts == {"accepted": 6}
    with pytest.raises(Refusal):
        survey.collector.receive(other.id, bad)
