"""What version 0.1.0 wrote opens, verifies and goes on: ledgers, releases, surveys, and what a device remembers."""

from __future__ import annotations

import json
import re
import tarfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from commandline import discreet

from discreet.errors import Refusal
from discreet.ledger import Dataset, Retired, open_ledger
from discreet.local import OptimizedUnary
from discreet.privacy import Pure
from discreet.survey import Collector, Respondent, Task, UploadReceipt, fresh_ids, packed, read_results, read_task
from discreet.survey.task import unpacked
from discreet.transport.signing_keys import read_handover

ARCHIVE = Path(__file__).parent / "made_by_0_1_0" / "made.tar.xz"
RELEASES = ("histogram-ward", "marginals-ward-cost", "ranges-cost", "ranges-cost-age")


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All of it, in a place of its own, on a machine that knows nothing of its ledger."""
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "state"))
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def said(made: Path) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((made / "expected.json").read_text(encoding="utf-8"))
    return expected


def told(made: Path, *words: str) -> str:
    """What a command prints that does what it should."""
    code, out = ended(made, *words, "--home", "home")
    assert code == 0, out
    return out


def ended(made: Path, *words: str) -> tuple[int, str]:
    """How a command ends, and what it prints: of one that fails, why."""
    done = discreet(made, *words, DISCREET_STATE=str(made / "state"))
    return done.returncode, done.stderr if done.returncode else done.stdout


def left(made: Path) -> str:
    """Of the population that is asked in these tests."""
    (row,) = (row for row in json.loads(told(made, "budget", "--format", "json")) if row["population"] == "patient")
    return str(row["left"])


def test_it_is_small_and_tells_of_nobodys_machine(made: Path) -> None:
    assert ARCHIVE.stat().st_size < 300_000
    found = re.compile(rb"(?<![\w.])/(work|root|home|Users|tmp|dev)/")
    assert [path for path in made.rglob("*") if path.is_file() and found.search(path.read_bytes())] == []


def test_the_ledger_holds_and_goes_on_from_the_head_that_was_signed_then(made: Path) -> None:
    head = made / "head.json"
    head.write_text(json.dumps(said(made)["head"]), encoding="utf-8")
    assert told(made, "ledger", "verify", "--head", "head.json").startswith("the ledger holds: 32 entries")
    told(made, "query", "SELECT count(*) FROM visits", "--epsilon", "1")
    assert told(made, "ledger", "verify", "--head", "head.json").startswith("the ledger holds: 34 entries")
    entries = [entry.event for entry in open_ledger(made / "home").entries()]
    assert sum(isinstance(event, Dataset) for event in entries) == 5
    assert Retired("pupils") in entries


def test_a_ledger_of_which_an_entry_was_changed_does_not_hold(made: Path) -> None:
    ledger = made / "home" / "ledger.db"
    before = ledger.read_bytes()
    assert before.count(b'"bob"') > 0
    ledger.write_bytes(before.replace(b'"bob"', b'"eve"'))
    assert ended(made, "ledger", "verify", "--home", "home")[0] == 2


def test_budgets_are_what_they_were_and_a_hold_is_lifted(made: Path) -> None:
    assert json.loads(told(made, "budget", "--format", "json")) == said(made)["budget"]
    code, why = ended(made, "query", "SELECT count(*) FROM staff", "--epsilon", "0.5", "--home", "home")
    assert (code, "closed for maintenance" in why) == (2, True), why
    told(made, "lift", "staff")
    told(made, "query", "SELECT count(*) FROM staff", "--epsilon", "0.5")
    code, why = ended(made, "query", "SELECT count(*) FROM pupils", "--epsilon", "0.1", "--home", "home")
    assert (code, "retired" in why) == (2, True), why
    assert "ann" in told(made, "user", "list")
    assert "bob" not in told(made, "user", "list")


def test_a_new_question_is_answered_and_an_old_one_is_bought_once_more(made: Path) -> None:
    assert left(made) == "epsilon 13, delta 0.000001"
    told(made, "query", "SELECT avg(age) FROM visits", "--epsilon", "2")
    assert left(made) == "epsilon 11, delta 0.000001"
    for _ in range(2):  # answers of 0.1 are not found any more: once, and then they are
        told(made, "query", "SELECT count(*) FROM visits", "--epsilon", "1")
        assert left(made) == "epsilon 10, delta 0.000001"
    assert json.loads(told(made, "query", "SELECT count(*) FROM wards", "--format", "json"))["rows"] == [[300]]


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_verifies_and_one_that_was_changed_does_not(name: str, made: Path) -> None:
    folder = made / "releases" / name
    code, words = ended(made, "release", "verify", str(folder))
    assert (code, f"the release '{name}' holds" in words) == (0, True), words
    document = folder / "release.json"
    document.write_bytes(document.read_bytes().replace(b'"1"', b'"2"', 1))
    assert ended(made, "release", "verify", str(folder))[0] == 2


def test_releases_are_listed_and_shown_free(made: Path) -> None:
    before = left(made)
    rows = json.loads(told(made, "release", "list", "--format", "json"))
    assert sorted(row["name"] for row in rows) == sorted(RELEASES)
    for row in rows:
        assert told(made, "release", "show", str(row["entry"]))
    assert left(made) == before


def test_results_of_a_survey_verify_and_their_estimates_follow_from_their_tally(made: Path) -> None:
    expected = said(made)
    document, handover = bytes.fromhex(expected["results"]), read_handover(json.dumps(expected["handover"]))
    task = read_task(bytes.fromhex(expected["documents"]["over"]))
    found = read_results(document, task=task, key=expected["first_key"], handovers=[handover])
    assert found.body["reports"] == 60
    assert isinstance(found.client, OptimizedUnary)
    assert len(found.estimates) == 3
    assert Collector(made / "home").results(task.id).document == document
    with pytest.raises(Refusal, match="signed by a stranger"):
        read_results(document, task=task, key=expected["first_key"])
    assert json.loads(told(made, "survey", "results", task.id, "--format", "json"))


def test_documents_are_spelled_and_hashed_as_they_were(made: Path) -> None:
    expected, collector = said(made), Collector(made / "home")
    for name, document in expected["documents"].items():
        task = collector.task(expected["surveys"][name])
        assert task.document == read_task(bytes.fromhex(document)).document == bytes.fromhex(document)
        assert collector.standing(task.id).counts.items() >= expected["counts"][name].items()


def test_a_collector_goes_on_and_knows_the_reports_that_it_has(made: Path) -> None:
    expected, collector = said(made), Collector(made / "home")
    names = expected["surveys"]
    assert collector.receive(names["waiting"], bytes.fromhex(expected["early"])) == UploadReceipt(replayed=30)
    task = collector.task(names["waiting"])
    body = packed(task, fresh_ids(10), task.client.batch([0, 1] * 5))
    assert collector.receive(task.id, body) == UploadReceipt(accepted=10)
    collector.close(task.id)
    found = collector.collect(task.id)
    assert (found.tally.people, found.genuine()) == (40, True)
    early = unpacked(task, bytes.fromhex(expected["early"]))
    late = unpacked(task, body)
    assert early is not None
    assert late is not None
    assert found.tally == task.client.tally(early.reports) + task.client.tally(late.reports)
    assert found.body["key"] == expected["handover"]["new"]


def test_an_invitation_is_good_for_one_report(made: Path) -> None:
    expected, collector = said(made), Collector(made / "home")
    task = collector.task(expected["surveys"]["invited"])
    first, second = (packed(task, fresh_ids(1), task.client.batch([1])) for _ in range(2))
    assert collector.receive(task.id, first, expected["ticket"]) == UploadReceipt(accepted=1)
    assert collector.receive(task.id, second, expected["ticket"]) == UploadReceipt(over_limit=1)


def test_a_device_says_again_what_it_said_and_knows_what_it_lost(made: Path) -> None:
    expected, device = said(made), Respondent(made / "device", limit=Pure(Fraction(40)))
    waiting, texts = (read_task(bytes.fromhex(expected["documents"][name])) for name in ("waiting", "texts"))
    sent = [bytes.fromhex(body) for body in expected["sent"]]
    assert device.lost() == Pure(Fraction(expected["lost"])) == Pure(Fraction(9))
    assert [each.body for each in device.pending()] == sent
    assert device.answer(waiting, 0).body == sent[0]  # whatever is answered now
    assert device.answer(texts, "Help!").body == sent[2]
    assert device.lost() == Pure(Fraction(9))
    with pytest.raises(Refusal, match="stranger"):
        device.trust(waiting.document, waiting.id, key="0" * 64)


def test_a_device_tells_the_same_permanent_response_and_is_limited_now(made: Path) -> None:
    expected, device = said(made), Respondent(made / "device", limit=Pure(Fraction(40)))
    waiting, texts, other = (
        read_task(bytes.fromhex(expected["documents"][name])) for name in ("waiting", "texts", "invited")
    )
    assert str(device.gauge(waiting)) == "1 of 5"  # the signer of the other task was never looked at
    again = device.answer(texts, "Help!", afresh=True)
    assert cohort(texts, again.body) == cohort(texts, bytes.fromhex(expected["sent"][1]))
    assert device.lost() == Pure(Fraction(13))
    assert str(device.gauge(waiting)) == "5 of 5"
    with pytest.raises(Refusal, match="this device tells one collector"):
        device.answer(other, 1)


def cohort(task: Task, body: bytes) -> int:
    """Of the one report in an upload: drawn once, from the secret that the device keeps."""
    batch = unpacked(task, body)
    assert batch is not None
    return int(task.client.cohort(batch.reports)[0])  # type: ignore[attr-defined]  # it is RAPPOR
