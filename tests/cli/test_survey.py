"""`discreet survey`, as people run it."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from pathlib import Path

import pytest
from commandline import discreet

from discreet.curator.custody import found_home
from discreet.local import DuchiMean
from discreet.survey.collector import Collector
from discreet.survey.task import drafted, fresh_ids, packed

NEW = ("survey", "new", "How many Justin Bieber albums do you own?")
ALBUMS = ("none", "1", "2", "3", "4")
ANSWERS = tuple(part for album in ALBUMS for part in ("--answer", album))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found_home(tmp_path / "discreet-home")
    return tmp_path


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
    low, high = want.interval()
    assert [each["low"] for each in found] == pytest.approx(list(100 * low / 40))
    assert [each["high"] for each in found] == pytest.approx(list(100 * high / 40))
    assert [each["shift"] for each in found] == [0] * 5
    said = discreet(folder, "survey", "results", name).stderr
    assert "One made-up report in a hundred can move each share by up to 3.3 percentage points." in said
    assert "document and results stay" in told(folder, "survey", "forget", name[:8])
    assert json.loads(told(folder, "survey", "results", name, "--format", "json")) == found
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


@pytest.mark.slow
def test_a_survey_that_asks_for_texts_is_read_with_candidates(folder: Path) -> None:
    shape = ("--epsilon", "20", "--bits", "16", "--cohorts", "4", "--minimum", "50")
    made = discreet(folder, "survey", "new", "Which animal?", "--texts", *shape, "--site", "https://example.org/")
    name = made.stdout.strip().removeprefix("https://example.org/survey/")
    assert "however often a person reports the same text" in made.stderr
    collector = Collector(folder / "discreet-home")
    task = collector.task(name)
    assert task.mechanism["name"] == "rappor"
    reports = task.client.batch(["cat"] * 3000 + ["dog"] * 1000)
    collector.receive(name, packed(task, fresh_ids(4000), reports))
    told(folder, "survey", "close", name)
    (folder / "animals.txt").write_text("owl\ndog\n\nfox\ncat\n")
    arguments = ("survey", "results", name, "--candidates", "animals.txt", "--format", "json")
    found = {row["answer"]: row for row in json.loads(told(folder, *arguments))}
    for text, share in (("cat", 75), ("dog", 25)):
        assert found[text]["low"] - 5 < share < found[text]["high"] + 5
        assert found[text]["chance"] < 1e-3
    assert "cat" in told(folder, *arguments[:-2])
    for wrong, sentence in (((), "with a list of candidates"), (("--candidates", "none.txt"), "cannot be read")):
        done = discreet(folder, "survey", "results", name, *wrong)
        assert (done.returncode, done.stdout) == (2, "")
        assert sentence in done.stderr


@pytest.mark.slow
def test_means_are_told_with_their_errors(folder: Path) -> None:
    collector = Collector(folder / "discreet-home")
    client = DuchiMean(Fraction(5))
    ends = {"opens": "2020-01-01T00:00:00Z", "closes": "2099-01-01T00:00:00Z"}
    task = collector.publish(drafted("How warm?", client, [], minimum=10, **ends))  # type: ignore[arg-type]
    collector.receive(task.id, packed(task, fresh_ids(100), client.batch([1] * 100)))
    told(folder, "survey", "close", task.id)
    ((row),) = json.loads(told(folder, "survey", "results", task.id, "--format", "json"))
    assert row["low"] < row["mean"] < row["high"] < row["low"] + 1
    assert row["shift"] == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((*NEW, "--texts", *ANSWERS), "leave out one of them"),
        ((*NEW, "--texts", "--bits", "0"), "bits"),
        ((*NEW, "--answer", "yes"), "two answers or more"),
        ((*NEW, *ANSWERS, "--epsilon", "0"), "epsilon"),
        ((*NEW, *ANSWERS, "--epsilon", "nan"), "nan"),
        ((*NEW, *ANSWERS, "--minimum", "0"), "minimum"),
        (("survey", "show", "00"), "no such survey"),
        (("survey", "results", "00"), "no such survey"),
        (("survey", "close", "00"), "no such survey"),
        (("survey", "forget", "00"), "no such survey"),
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


@pytest.mark.slow
def test_forgetting_says_what_is_still_needed(folder: Path) -> None:
    name = told(folder, *NEW, *ANSWERS).strip().rpartition("/")[2]
    Collector(folder / "discreet-home").revise(name, minimum=50)
    done = discreet(folder, "survey", "forget", name)
    assert done.returncode == 0
    assert "version 2 needs its report ids and invitations: only older ones are deleted" in done.stderr
