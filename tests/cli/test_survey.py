"""`discreet survey`, as people run it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.curator.custody import found_home
from discreet.local.batch import fresh_ids, packed
from discreet.local.collector import Collector

NEW = ("survey", "new", "How many Justin Bieber albums do you own?")
ALBUMS = ("none", "1", "2", "3", "4")
ANSWERS = tuple(part for album in ALBUMS for part in ("--answer", album))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found_home(tmp_path / "discreet-home")
    return tmp_path


def discreet(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "discreet", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def told(folder: Path, *arguments: str) -> str:
    done = discreet(folder, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_survey_from_its_question_to_its_results(folder: Path) -> None:
    made = discreet(folder, *NEW, *ANSWERS, "--minimum", "20", "--site", "https://example.org/")
    assert "at most 74 of 100" in made.stderr
    address = made.stdout.strip()
    name = address.removeprefix("https://example.org/survey/")
    collector = Collector(folder / "discreet-home")
    task = collector.task(name)
    assert (task.question, task.domain, task.minimum, str(task.client.epsilon)) == (NEW[2], ALBUMS, 20, "1")
    truths = [0] * 20 + [1] * 10 + [4] * 10
    collector.receive(name, packed(task, fresh_ids(40), task.client.batch(truths)))
    (row,) = csv.DictReader(io.StringIO(told(folder, "survey", "list", "--format", "csv")))
    assert (row["survey"], row["state"], row["reports"]) == (name, "open", "40")
    shown = told(folder, "survey", "show", name[:8])
    assert "response, epsilon 1" in shown
    assert "right in at most 74 of 100" in shown
    assert "40 reports" in told(folder, "survey", "close", name[:8])
    found = json.loads(told(folder, "survey", "results", name, "--format", "json"))
    want = task.client.estimate(collector.results(name).tally)  # type: ignore[attr-defined]
    assert [each["answer"] for each in found] == list(ALBUMS)
    assert [each["share"] for each in found] == pytest.approx(list(100 * want.shares))
    assert [each["error"] for each in found] == pytest.approx(list(100 * want.errors / 40))
    assert "results" in told(folder, "survey", "list")
    assert "none" in told(folder, "survey", "results", name)


@pytest.mark.slow
def test_every_invitation_is_a_link_of_its_own(folder: Path) -> None:
    address = told(folder, *NEW, *ANSWERS, "--invited").strip()
    name = address.rpartition("/")[2]
    links = told(folder, "survey", "invite", name, "3").split()
    assert len(set(links)) == 3
    assert all(link.startswith(f"{address}#") for link in links)
    collector = Collector(folder / "discreet-home")
    task, token = collector.task(name), links[0].partition("#")[2]
    body = packed(task, fresh_ids(2), task.client.batch([0, 0]))
    receipt = collector.receive(name, body, token)
    assert (receipt.accepted, receipt.over_limit) == (1, 1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((*NEW, "--answer", "yes"), "two answers or more"),
        ((*NEW, *ANSWERS, "--epsilon", "0"), "epsilon"),
        ((*NEW, *ANSWERS, "--epsilon", "nan"), "nan"),
        ((*NEW, *ANSWERS, "--minimum", "0"), "minimum"),
        (("survey", "show", "00"), "no such survey"),
        (("survey", "results", "00"), "no such survey"),
        (("survey", "close", "00"), "no such survey"),
        (("survey", "list", "--home", "nowhere"), "discreet init"),
    ],
)
@pytest.mark.slow
def test_refusals_are_one_sentence(folder: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = discreet(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_nothing_is_told_of_too_few(folder: Path) -> None:
    name = told(folder, *NEW, *ANSWERS).strip().rpartition("/")[2]
    done = discreet(folder, "survey", "close", name)
    assert done.returncode == 2
    assert "fewer than the 100 reports" in done.stderr
    assert "open" in told(folder, "survey", "show", name)
    assert discreet(folder, "survey", "results", name).returncode == 2
