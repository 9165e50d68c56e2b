"""A certificate says what the release and the ledger say, in one spelling, and notices any other word."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from release.published import NIGHT, SQL, paid, people, released

from discreet.errors import Refusal
from discreet.ledger import Spend, SqliteLedger
from discreet.ledger.entry_kinds import Plain
from discreet.ledger.signed_head import Head
from discreet.ledger.verify import Pinned, read_proof, receipt
from discreet.mechanisms import Frame
from discreet.privacy import Concentrated, Pure, Replace
from discreet.release import Release
from discreet.release.certificate import Certificate, PaymentFacts, kept, letters, spelled

PAID: dict[str, Plain] = {
    "population": "patients",
    "loss": {"measure": "pure", "epsilon": "1"},
    "sql": SQL,
    "versions": {"visits": 3},
}
WISH: dict[str, object] = {"kind": "histogram", "columns": ["age"], "bins": {"age": 10}}


def facts(release: Release) -> dict[str, Plain]:
    return {**release.facts, "axes": [dict(side.plain) for side in release.sides]}


@pytest.fixture(name="certificate")
def _certificate(tmp_path: Path) -> Certificate:
    release = released(WISH)
    proof = paid(tmp_path / "home", release)
    return Certificate(facts(release), release.bounding, proof, {"release.json": "ab" * 32})


def test_it_says_all_that_a_reader_needs(certificate: Certificate) -> None:
    told = json.loads(certificate.to_json())
    assert told["format"] == "discreet-certificate-3"
    assert (told["title"], told["kind"]) == ("Ages of patients", "histogram")
    assert told["guarantee"] == {"measure": "pure", "epsilon": "1"}
    assert told["neighbours"] == {"relation": "add-remove", "unit": "patient"}
    assert told["caps"] == {"max_rows": 1}
    assert told["mechanism"]["name"] == "identity"
    assert told["mechanism"]["parameters"]["epsilon"] == "1"
    assert "2006" in told["source"]
    assert told["axes"] == [
        {"column": "age", "step": "1", "closed": False, "edges": [*map(str, range(0, 91, 10)), "101"]}
    ]
    assert told["provenance"] == {"sql": SQL, "tables": {"visits": 3}, "population": "patients", "time": NIGHT}
    assert told["ledger"]["entries"] == [3, 4]
    assert told["files"] == {"release.json": "ab" * 32}
    assert told["left_out"][0] == certificate.bounding
    assert told["left_out"][1].startswith("Not counted are records beyond the most that one patient may have")
    assert told["how_to_cite"].startswith("Ages of patients (differentially private histogram; epsilon = 1, when all ")


def test_what_it_holds_of_the_ledger_is_what_the_ledger_room_checks(certificate: Certificate) -> None:
    told = json.loads(certificate.to_json())["ledger"]["answer"]
    assert read_proof(json.dumps(told)).faults(Pinned(told["head"]["key"])) == ()


def test_it_says_what_the_ledger_says_was_paid_and_not_by_whom(certificate: Certificate) -> None:
    assert certificate.paid == PaymentFacts("patients", Pure(1), SQL, {"visits": 3})
    assert certificate.entries == (3, 4)
    assert "principal" not in certificate.to_json()


def test_it_is_read_back_as_it_was_written_in_one_spelling(certificate: Certificate) -> None:
    text = certificate.to_json()
    assert Certificate.from_json(text) == certificate
    assert list(json.loads(text)) == sorted(json.loads(text))
    for other in (text.strip(), text.replace("\n", "\r\n"), json.dumps(json.loads(text)) + "\n", " " + text):
        with pytest.raises(Refusal, match="contradicts itself in its spelling"):
            Certificate.from_json(other)


def places(body: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:  # noqa: ANN401
    """Every value in a JSON body that is not a list or an object."""
    inner = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else None
    return [path] if inner is None else [found for key, value in inner for found in places(value, (*path, key))]


def changed(body: Any, path: tuple[str | int, ...]) -> str:  # noqa: ANN401
    copy = json.loads(json.dumps(body))
    inside = copy
    for key in path[:-1]:
        inside = inside[key]
    value = inside[path[-1]]
    inside[path[-1]] = value + 1 if isinstance(value, int) else f"{value[:-1]}{'1' if value[-1:] != '1' else '2'}"
    return json.dumps(copy, sort_keys=True, indent=2, ensure_ascii=False) + "\n"


FREE = {
    "axes",
    "fit",
    "outside",
    "mechanism",
    "columns",
    "tables",
    "source",
    "proof",
    "kind",
    "guarantee",
    "neighbours",
    "caps",
    "left_out",
}


def test_a_change_to_any_value_is_noticed(certificate: Certificate) -> None:
    """Values that the release says of itself are compared with it by `folder.checked`; all others are noticed here."""
    body = json.loads(certificate.to_json())
    unnoticed = set()
    for path in places(body):
        try:
            read = Certificate.from_json(changed(body, path))
        except Refusal:
            continue
        if not read.faults():
            unnoticed.add(path[0])
    assert unnoticed <= FREE | {"files"}  # digests: compared with the files
    assert "files" in unnoticed  # the test does change values


def test_a_part_more_or_less_is_refused(certificate: Certificate) -> None:
    body = json.loads(certificate.to_json())
    for name in ("title", "promise", "left_out", "provenance", "ledger", "files", "discreet", "how_to_cite", "format"):
        rest = {key: value for key, value in body.items() if key != name}
        with pytest.raises(Refusal):
            Certificate.from_json(json.dumps(rest, sort_keys=True, indent=2, ensure_ascii=False) + "\n")
    for text in ("", "[]", "{}", "null", '{"a": 1, "a": 2}', "[" * 5000, certificate.to_json()[:-3]):
        with pytest.raises(Refusal):
            Certificate.from_json(text)


def test_a_name_that_stands_twice_is_refused(certificate: Certificate) -> None:
    text = certificate.to_json().replace('"title":', '"title": "Another", "title":')
    with pytest.raises(Refusal, match="no certificate"):
        Certificate.from_json(text)


# promises -------------------------------------------------------------------------------------------------------------


def promised(certificate: Certificate, **others: Plain) -> Certificate:
    return replace(certificate, facts={**certificate.facts, **others})


def test_the_promise_is_told_in_times_of_hundred_rounded_against_us(certificate: Certificate) -> None:
    assert certificate.promise == (  # e/(1+e) is 0.731…
        "Whoever can only toss a coin to guess whether the data has the records of one patient is right 50 times in "
        "100. After reading this release, even if they know all the other data, they are right at most 74 times."
    )
    for epsilon, times in (("1/1000", "at most 51 times."), ("3", "at most 96 times."), ("5", "nearly always.")):
        assert promised(certificate, guarantee={"measure": "pure", "epsilon": epsilon}).promise.endswith(times)


def test_the_chance_is_that_of_the_best_test(certificate: Certificate) -> None:
    assert float(certificate.chance) == pytest.approx(0.7310585786300049)
    assert certificate.chance >= Fraction("0.7310585786300048")
    loose = promised(certificate, guarantee={"measure": "approximate", "epsilon": "1", "delta": "1/10"})
    assert loose.chance == pytest.approx(0.05 + 0.9 * 0.7310585786300049 + 0.05)


def test_the_promise_names_who_is_compared(certificate: Certificate) -> None:
    rows = promised(certificate, neighbours={"relation": "replace", "unit": "row"})
    assert rows.promise.startswith(
        "Whoever can only toss a coin to guess which of two versions of one row the data has"
    )
    assert rows.change == "when one row is replaced by others"
    many = promised(certificate, caps={"max_rows": 7})
    assert many.change == "when all records of one patient, at most 7 rows, are added or removed"


def test_losses_are_written_exactly() -> None:
    assert spelled(Pure("0.1")) == "epsilon = 0.1"
    assert letters(Concentrated("0.5", "1e-9")) == "ρ = 0.5, δ = 0.000000001"


def test_a_price_below_the_promise_is_a_fault(certificate: Certificate) -> None:
    assert certificate.faults() == ()
    dearer = promised(certificate, guarantee={"measure": "pure", "epsilon": "2"})
    assert "was charged epsilon = 1, which does not cover the epsilon = 2" in dearer.faults()[0]
    cheaper = promised(certificate, guarantee={"measure": "pure", "epsilon": "1/2"})
    assert cheaper.faults() == ()
    other = promised(certificate, guarantee={"measure": "approximate", "epsilon": "1", "delta": "1/10"})
    assert len(other.faults()) == 1


# the ledger -----------------------------------------------------------------------------------------------------------


def test_a_head_or_key_that_was_kept_is_held_against_it(certificate: Certificate) -> None:
    key = certificate.answer.head.key
    assert certificate.faults(Pinned(key)) == ()
    assert certificate.faults(Pinned(key, certificate.answer.head)) == ()
    assert len(certificate.faults(Pinned("00" * 32))) == 1
    smaller = replace(certificate.answer.head, size=2)
    assert "does not show that its ledger goes on" in certificate.faults(Pinned(key, smaller))[0]


def test_a_forged_head_or_entry_is_a_fault(certificate: Certificate) -> None:
    head: Head = certificate.answer.head
    forged = replace(certificate.answer, head=replace(head, time="2027-01-01T00:00:00Z"))
    assert replace(certificate, answer=forged).faults() == ("entry 4: its head is not signed by its key",)
    moved = replace(certificate.answer, entry=replace(certificate.answer.entry, nonce="00" * 16))
    assert "is not under its head" in replace(certificate, answer=moved).faults()[0]


def test_an_entry_of_another_kind_is_refused(certificate: Certificate, tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "home" / "ledger.db")
    rows = ledger.rows()
    with pytest.raises(Refusal, match="holds an answer, got one that holds Spend"):
        replace(certificate, answer=receipt(rows, 3, certificate.answer.head))


@pytest.mark.parametrize(
    "held",
    [
        "text",
        {"release": "x"},
        {"release": {"sha256": "ab" * 32}},
        {"release": {"sha256": "ab" * 32, "name": "n", "paid": PAID, "more": 1}},
        {"release": {"sha256": "AB" * 32, "name": "n"}},
        {"release": {"sha256": "ab" * 32, "name": "n", "more": 1}},
        {"release": {"sha256": "ab" * 32, "name": "n"}, "more": 1},
    ],
)
def test_an_answer_that_holds_something_else_is_refused(held: Plain, tmp_path: Path) -> None:
    release = released(WISH)
    proof = paid(tmp_path / "home", release, held=held)
    with pytest.raises(Refusal, match="holds no release"):
        Certificate(facts(release), release.bounding, proof)


@pytest.mark.parametrize(
    "paid_for",
    [
        None,
        {},
        "text",
        {**PAID, "more": 1},
        {name: value for name, value in PAID.items() if name != "sql"},
        {name: value for name, value in PAID.items() if name != "versions"},
        {**PAID, "loss": {"measure": "pure", "epsilon": "-1"}},
        {**PAID, "loss": None},
    ],
)
def test_an_answer_that_does_not_say_what_was_paid_is_refused(paid_for: Plain, tmp_path: Path) -> None:
    release = released(WISH)
    told: dict[str, Plain] = {"sha256": "ab" * 32, "name": "n"}
    proof = paid(tmp_path / "home", release, held={"release": told if paid_for is None else {**told, "paid": paid_for}})
    with pytest.raises(Refusal):
        Certificate(facts(release), release.bounding, proof)


def test_what_the_ledger_keeps_is_the_digest_the_name_and_the_payment() -> None:
    spend = Spend("patients", Pure(1), "ann", "one", ["visits"], {"sql": SQL, "mechanism": "m"}, {"visits": 3})
    assert kept("ab" * 32, "Ages", spend) == {"release": {"sha256": "ab" * 32, "name": "Ages", "paid": PAID}}


def test_facts_that_would_speak_for_the_certificate_are_refused(certificate: Certificate) -> None:
    with pytest.raises(Refusal, match=r"got \['promise'\]"):
        promised(certificate, promise="everything")


def test_marginals_and_their_rho_are_certified(tmp_path: Path) -> None:
    release = released({"kind": "marginals", "columns": ["age", "region"], "delta": "1e-9"})
    proof = paid(tmp_path / "home", release)
    certificate = Certificate(facts(release), release.bounding, proof)
    assert isinstance(certificate.guarantee, Concentrated)
    assert certificate.faults() == ()
    assert Certificate.from_json(certificate.to_json()) == certificate


def test_bins_that_were_chosen_privately_are_told_apart() -> None:
    release = released({"kind": "histogram", "columns": ["age", "cost"], "bins": {"age": 10, "cost": "private:4"}})
    assert [release.chosen(name) for name in ("age", "cost", "nothing")] == [False, True, False]


def test_the_promise_is_that_of_the_neighbours_of_the_release(tmp_path: Path) -> None:
    table = people()
    replaced = Frame(table.columns, table.values, table.caps, Replace("patient"))
    release = released(WISH, replaced)
    proof = paid(tmp_path / "home", release)
    certificate = Certificate(facts(release), release.bounding, proof)
    assert certificate.neighbours == Replace("patient")
    assert "which of two versions of the records of one patient" in certificate.promise
