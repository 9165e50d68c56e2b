"""The collector's file: whole after a kill, and without a link from a person to a report."""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from survey.surveyed import ONE, Survey, draft, forgetful, sent

from discreet.errors import Refusal
from discreet.local import CountMeanSketch, LocalHashing
from discreet.local.local_mechanism import Tally
from discreet.noise import below
from discreet.survey import collector_store
from discreet.survey.collector import Collector
from discreet.survey.intake import Sent
from discreet.survey.results import Results, results
from discreet.transport.signed_task import Uninvited, UploadReceipt


def tally(survey: Survey) -> Tally:
    survey.collector.close(survey.task.id)
    return survey.collector.collect(survey.task.id).tally


KILLED = """
import sys
from pathlib import Path
from survey.surveyed import Clock
from discreet.survey.collector import Collector
home, name = Path(sys.argv[1]), sys.argv[2]
collector = Collector(home, clock=Clock())
for path in sorted((home / "uploads").iterdir()):
    print(path.name, collector.receive(name, path.read_bytes()).accepted, flush=True)
"""


@pytest.mark.parametrize("kills", [(1, 13), pytest.param((1, 4, 9, 14), marks=pytest.mark.slow)], ids=len)
def test_a_killed_collector_loses_and_doubles_nothing(tmp_path: Path, kills: tuple[int, ...]) -> None:
    survey = Survey(tmp_path, LocalHashing(ONE, 5), minimum=150)
    (tmp_path / "uploads").mkdir()
    bodies = {f"{i:03}": survey.upload(np.arange(40) % 5) for i in range(60)}
    for name, body in bodies.items():
        (tmp_path / "uploads" / name).write_bytes(body)
    command = [sys.executable, "-c", KILLED, str(tmp_path), survey.task.id]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    told: set[str] = set()
    for lines in kills:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            for _ in range(lines + len(told)):
                told.add(process.stdout.readline().split()[0])
            process.send_signal(signal.SIGKILL)
    assert 14 <= len(told) < 60
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    last = {name: int(accepted) for name, accepted in map(str.split, done.stdout.splitlines())}
    assert all(last[name] == 0 for name in told)  # what was told to be there was there
    assert set(last.values()) <= {0, 40}  # an upload is in whole, or not at all
    reports = np.concatenate([sent(body, survey.task)[1] for body in bodies.values()])
    assert tally(survey.reopened()) == survey.task.client.tally(reports)
    assert survey.counts["accepted"] == 2400


def test_what_is_forgotten_is_gone_and_results_stay(tmp_path: Path) -> None:
    survey = Survey(tmp_path, LocalHashing(ONE, 5), minimum=10, reports=2, invited=True)
    old = survey.task
    tokens = survey.collector.invite(old.id, 8)
    bodies = [survey.upload([i % 5, 1], old) for i in range(8)]
    waiting = [Sent(old.id, body, token) for body, token in zip(bodies[:3], tokens, strict=False)]
    assert survey.collector.take(waiting) == [UploadReceipt(accepted=2)] * 3  # in a version that is never collected
    with pytest.raises(Refusal, match="has no results yet"):
        survey.collector.forget(old.id)
    new = survey.collector.revise(old.id, closes="2027-03-01T00:00:00Z")
    later = [survey.upload([1, 2], new) for _ in range(8)]
    sending = [Sent(old.id, body, token) for body, token in zip(later, tokens, strict=True)]
    assert survey.collector.take(sending) == [UploadReceipt(accepted=2)] * 8
    assert survey.collector.forget(old.id) == [1]  # what older versions know
    assert not any(sent(body, old)[0][:16] in (tmp_path / "surveys.db").read_bytes() for body in bodies[:3])
    survey.collector.close(old.id)
    found, other = survey.collector.collect(old.id), Collector(tmp_path, clock=survey.clock)
    assert other.receive(old.id, later[0], tokens[0]) == UploadReceipt(replayed=2)  # and it has the ids in memory
    ids = [sent(body, new)[0] for body in later]
    before = (tmp_path / "surveys.db").read_bytes()
    assert all(part[:16] in before for part in ids)
    assert survey.collector.forget(old.id) == [1, 2]
    content = (tmp_path / "surveys.db").read_bytes()
    assert len(content) <= len(before)
    assert not any(part[i : i + 16] in content for part in ids for i in (0, 16))
    assert not any(hashlib.sha256(token.encode()).digest() in content for token in tokens)
    reports = [report.tobytes() for body in bodies[:3] for report in sent(body, old)[1]]
    assert not any(report in content for report in reports)
    assert survey.reopened().collector.results(old.id).document == found.document
    assert survey.collector.task(old.id, 1) == old
    assert survey.counts["accepted"] == 16
    for collector in (survey.collector, other):
        with pytest.raises(Uninvited):
            collector.receive(old.id, later[0], tokens[0])
    survey.collector.forget(old.id)  # again: nothing is left to forget
    assert survey.collector.collect(old.id).document == found.document


def test_a_survey_that_ended_with_too_few_reports_is_forgotten(tmp_path: Path) -> None:
    survey = Survey(tmp_path, LocalHashing(ONE, 5), minimum=10)
    body = survey.upload([1] * 4)
    survey.receive(body)
    survey.clock.pass_(days=60)
    with pytest.raises(Refusal, match="fewer reports"):
        survey.collector.collect(survey.task.id)
    survey.collector.forget(survey.task.id)
    ids, reports = sent(body, survey.task)
    content = (tmp_path / "surveys.db").read_bytes()
    assert not any(part in content for part in (ids[:16], ids[-16:], *(report.tobytes() for report in reports)))
    survey.clock.pass_(days=-55)
    assert survey.receive(body) == UploadReceipt(late=4)  # it is closed for good
    with pytest.raises(Refusal, match="fewer reports"):
        survey.collector.collect(survey.task.id)


@pytest.mark.parametrize(("name", "width"), [("seen", 16), ("waiting", 9)])
def test_a_run_that_begins_does_not_tell_what_came_last(name: str, width: int, tmp_path: Path) -> None:
    """The one item of a new run is as likely any other: an id and a report that are alone do not belong together.

    Of a thousand and more it is the newest once, and in three homes of three once in 10^9.
    """
    full, alone = (1 << 14) // width, 0
    for home in (tmp_path / f"{i}" for i in range(3)):
        home.mkdir()
        survey = Survey(home, LocalHashing(ONE, 5), minimum=1 << 16)
        survey.send([1] * full)
        body = survey.upload([2])
        survey.receive(body)
        ids, reports = sent(body, survey.task)
        with closing(sqlite3.connect(home / "surveys.db")) as file:
            runs = [bytes(held) for (held,) in file.execute(f"SELECT held FROM {name} ORDER BY run")]
        assert [len(run) for run in runs] == [width * full, width]
        newest = ids if name == "seen" else reports.tobytes()
        assert newest in {runs[1], *(runs[0][i : i + width] for i in range(0, width * full, width))}
        alone += newest == runs[1]
    assert alone < 3


def test_what_came_first_and_what_came_later_are_in_all_runs(tmp_path: Path) -> None:
    survey = Survey(tmp_path, LocalHashing(ONE, 5), minimum=1 << 16)
    first, later = survey.upload([1] * 3000), [survey.upload([2] * 100) for _ in range(30)]
    survey.receive(first)
    early = {sent(first, survey.task)[0][i : i + 16] for i in range(0, 48_000, 16)}
    for body in later:
        survey.receive(body)
    with closing(sqlite3.connect(tmp_path / "surveys.db")) as file:
        runs = [bytes(held) for (held,) in file.execute("SELECT held FROM seen ORDER BY run")]
    mixture = [np.mean([run[i : i + 16] in early for i in range(0, len(run), 16)]) for run in runs]
    assert len(runs) == 6
    assert min(mixture[:3]) > 0
    assert max(mixture[:3]) < 1  # no run is of the first upload alone
    assert max(mixture[3:]) > 0


def test_a_forgotten_open_survey_counts_nothing_again(tmp_path: Path) -> None:
    survey = Survey(tmp_path, minimum=5)
    bodies = [survey.upload([1] * 5) for _ in range(3)]
    for body in bodies:
        survey.receive(body)
    survey.collector.close(survey.task.id)
    found = survey.collector.collect(survey.task.id)
    survey.collector.forget(survey.task.id)
    assert [survey.receive(body) for body in bodies] == [UploadReceipt(late=5)] * 3
    assert survey.reopened().receive(bodies[0]) == UploadReceipt(late=5)
    assert survey.collector.collect(survey.task.id).document == found.document


def test_the_file_links_no_token_to_an_id_and_no_id_to_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgetful(monkeypatch)
    survey = Survey(tmp_path, LocalHashing(ONE, 5), minimum=60, reports=100, invited=True)
    tokens = survey.collector.invite(survey.task.id, 10)
    bodies = [survey.upload([i % 5] * (1 + i % 4)) for i in range(40)]
    for i, body in enumerate(bodies):
        survey.receive(body, tokens[i % 10])
    ids = [sent(body, survey.task)[0] for body in bodies]
    order = [each[i : i + 16] for each in ids for i in range(0, len(each), 16)]
    reports = [report.tobytes() for body in bodies for report in sent(body, survey.task)[1]]
    with closing(sqlite3.connect(tmp_path / "surveys.db")) as file:
        tables = dict(file.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
        seen = b"".join(held for (held,) in file.execute("SELECT held FROM seen"))
        waiting = b"".join(held for (held,) in file.execute("SELECT held FROM waiting"))
        assert file.execute("SELECT sum(sent), count(*) FROM invited").fetchone() == (len(order), 10)
    assert set(tables) == {"task", "collection", "invited", "seen", "waiting", "counted", "handover"}
    assert [seen[i : i + 16] for i in range(0, len(seen), 16)] == sorted(order)  # not as they came
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not any(token.encode() in content for token in tokens)
    left = len(waiting) // 9
    assert 20 < left < 60  # so many are not in their order by chance
    assert sum(report in content for report in reports) == left  # of those in the sums nothing is left, nowhere
    assert [waiting[i : i + 9] for i in range(0, len(waiting), 9)] != reports[-left:]
    assert {waiting[i : i + 9] for i in range(0, len(waiting), 9)} == set(reports[-left:])
    survey.clock.pass_(days=60)
    survey.collector.collect(survey.task.id)
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not any(report in content for report in reports)
    assert (tmp_path / "surveys.db").stat().st_mode & 0o077 == 0


def test_a_commit_is_on_the_disk_however_sqlite_was_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forgetful(monkeypatch)
    survey = Survey(tmp_path)
    with collector_store.Store(survey.home / "surveys.db").reading() as file:
        asked = {name: file.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "fullfsync")}
        assert asked == {"synchronous": 3, "fullfsync": 1}
        assert file.execute("PRAGMA journal_mode").fetchone() == ("delete",)


@pytest.mark.parametrize("name", ["seen", "waiting"])
@pytest.mark.parametrize(("width", "run"), [(16, 64), (16, 1 << 14), (700, 1 << 11), (20_000, 1 << 14)])
def test_what_is_mixed_is_neither_lost_nor_doubled(
    name: str, width: int, run: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever comes together, and when there are many more runs than items in one."""
    monkeypatch.setattr(collector_store, "_RUN", run)
    monkeypatch.setattr(collector_store, "_FEWEST", 2)
    rng, kept = Seeded(width), []
    with closing(sqlite3.connect(":memory:")) as file:
        file.executescript(collector_store._SCHEMA)
        for _ in range(60):
            new = [rng.raw(16).ljust(width, b"+") for _ in range(1 + below(7, rng=rng))]
            collector_store.mingle(file, name, b"task", b"".join(new), width=width, rng=rng)
            kept += new
            runs = collector_store.held(file, name, b"task")
            there = [part[i : i + width] for part in runs for i in range(0, len(part), width)]
            assert sorted(there) == sorted(kept)
        assert len({len(part) for part in runs[:-1]}) <= 1  # all but the last are full


def test_wide_reports_that_wait_are_all_in_the_sums(tmp_path: Path) -> None:
    survey = Survey(tmp_path, CountMeanSketch(ONE, 2, 1 << 16), minimum=25)
    bodies = [survey.upload([f"page {i}"]) for i in range(30)]
    assert [survey.receive(body) for body in bodies] == [UploadReceipt(accepted=1)] * 30
    assert tally(survey) == survey.task.client.tally(np.concatenate([sent(body, survey.task)[1] for body in bodies]))


def test_a_run_of_wide_reports_has_others_to_hide_among(tmp_path: Path) -> None:
    survey = Survey(tmp_path, CountMeanSketch(ONE, 2, 1 << 16), minimum=100)
    survey.send([f"page {i}" for i in range(16)])
    with closing(sqlite3.connect(tmp_path / "surveys.db")) as file:
        assert file.execute("SELECT count(*), max(length(held)) FROM waiting").fetchone() == (1, 16 * 8193)


def test_who_collects_gets_those_results_though_the_task_is_revised_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = Survey(tmp_path)
    survey.send([0] * 15)
    survey.collector.close(survey.task.id)

    def revised(*given: Any) -> Results:  # noqa: ANN401
        survey.collector.revise(survey.task.id, minimum=11)
        survey.collector.forget(survey.task.id)
        return results(*given)

    monkeypatch.setattr("discreet.survey.collector.results", revised)
    found = survey.collector.collect(survey.task.id)
    assert (found.body["version"], found.tally.people) == (1, 15)
    assert survey.collector.results(survey.task.id, 1).document == found.document


def test_two_processes_may_put_a_new_key_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = Survey(tmp_path)

    def first(old: Path, new: Path) -> None:
        Path(old).rename(new)  # another process did, a moment ago
        raise FileNotFoundError

    with monkeypatch.context() as raced:
        raced.setattr("discreet.durable.move", first)
        given = survey.collector.rotate()
    assert survey.reopened().collector.publish(draft()).key == given.new
