"""The collector's file: whole after a kill, and without a link from a person to a report."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
from local.surveyed import ONE, Survey, sent

from discreet.local import LocalHashing
from discreet.local.tally import Tally


def tally(survey: Survey) -> Tally:
    survey.collector.close(survey.task.id)
    return survey.collector.collect(survey.task.id).tally


KILLED = """
import sys
from pathlib import Path
from local.surveyed import Clock
from discreet.local.collector import Collector
home, name = Path(sys.argv[1]), sys.argv[2]
collector = Collector(home, clock=Clock())
for path in sorted((home / "uploads").iterdir()):
    print(path.name, collector.receive(name, path.read_bytes()).accepted, flush=True)
"""


def test_a_killed_collector_loses_and_doubles_nothing(tmp_path: Path) -> None:
    survey = Survey(tmp_path, LocalHashing(ONE, 5), minimum=150)
    (tmp_path / "uploads").mkdir()
    bodies = {f"{i:03}": survey.upload(np.arange(40) % 5) for i in range(60)}
    for name, body in bodies.items():
        (tmp_path / "uploads" / name).write_bytes(body)
    command = [sys.executable, "-c", KILLED, str(tmp_path), survey.task.id]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    told: set[str] = set()
    for lines in (1, 4, 9, 14):
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


def test_the_file_links_no_token_to_an_id_and_no_id_to_a_report(tmp_path: Path) -> None:
    survey = Survey(tmp_path, LocalHashing(ONE, 5), minimum=30, reports=100, invited=True)
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
    assert 0 < left < 30
    assert sum(report in content for report in reports) == left  # of those in the sums nothing is left, nowhere
    assert [waiting[i : i + 9] for i in range(0, len(waiting), 9)] != reports[-left:]
    assert {waiting[i : i + 9] for i in range(0, len(waiting), 9)} == set(reports[-left:])
    survey.clock.pass_(days=60)
    survey.collector.collect(survey.task.id)
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not any(report in content for report in reports)
    assert (tmp_path / "surveys.db").stat().st_mode & 0o077 == 0
