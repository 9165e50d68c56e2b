"""What the books let in: versions that go up, owners that stay, prices by who may pay them for the rows of now."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.errors import OverBudget, Refusal
from discreet.ledger import (
    Adopted,
    Books,
    Dataset,
    Event,
    Grant,
    Hold,
    Opened,
    Retired,
    Revoked,
    Spend,
    SqliteLedger,
    StoredAnswer,
    verify,
)
from discreet.ledger.entry_kinds import (
    GENESIS,
    REMOVED,
    Entry,
    Plain,
    canonical,
    read_entry,
    read_event,
    session_question,
    write_event,
)
from discreet.ledger.index import beginning, read_checkpoint, seal
from discreet.privacy import AddRemove, Approximate, Concentrated, Gaussian, Profile, Pure, Renyi


def opened(population: str = "patients", total: int = 2) -> Opened:
    return Opened(population, Pure(total), AddRemove(population))


def spend(epsilon: object = "0.1", who: str = "custodian", **more: object) -> Spend:
    return Spend("patients", Pure(epsilon), who, "q", ["visits"], None, **more)  # type: ignore[arg-type]


def dataset(version: int, **changes: object) -> Dataset:
    usual = {"table": "visits", "population": "patients", "unit": "patient", "declaration": "d", "file": "f"}
    return Dataset(version=version, **{**usual, **changes})  # type: ignore[arg-type]


def books(*events: object) -> Books:
    found = Books()
    for number, event in enumerate(events, start=1):
        found.apply(Entry(number, "", "", "00" * 32, event))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize(
    ("before", "new", "complaint"),
    [
        ([dataset(3)], dataset(3, file="other"), "version 3"),
        ([dataset(3)], dataset(2), "version 2"),
        ([dataset(3)], dataset(3, declaration=REMOVED), "version 3"),
        ([dataset(3), dataset(4, declaration=REMOVED, file="")], dataset(4, file=""), "version 4"),
        ([dataset(3), dataset(4, declaration=REMOVED, file="")], dataset(3), "version 3"),
        ([], dataset(0), "version 0"),
        ([dataset(1)], dataset(2, unit="other"), "whose rows"),
        ([dataset(1)], dataset(2, population=None, unit=None), "whose rows"),
        ([], dataset(1, population="nobody"), "no population"),
        ([dataset(1)], dataset(1, table="more", unit=None), "never share"),
        ([dataset(1, table="site", unit=None)], dataset(1), "never share"),
        (
            [dataset(1, table="site", unit=None), dataset(2, table="site", unit=None, declaration=REMOVED)],
            dataset(1),
            "never share",
        ),
        (
            [dataset(1, table="site", unit=None), dataset(2, table="site", unit=None, declaration=REMOVED)],
            dataset(3, table="site", unit=None),
            "never share",
        ),
    ],
)
def test_versions_go_up_and_owners_stay(before: list[Dataset], new: Dataset, complaint: str) -> None:
    with pytest.raises(Refusal, match=complaint):
        books(opened(), *before).check(new)


@pytest.mark.parametrize(
    ("before", "new"),
    [
        ([dataset(3)], dataset(3, declaration="edited")),
        ([dataset(3)], dataset(4, file="other")),
        ([dataset(3)], dataset(4, declaration=REMOVED, file="")),
        ([dataset(3), dataset(4, declaration=REMOVED, file="")], dataset(5, unit="other")),
        ([dataset(1)], dataset(1, table="more")),
        ([dataset(1, unit=None)], dataset(2, unit=None, file="g")),
        ([dataset(1, unit=None)], dataset(2, unit=None, declaration=REMOVED)),
    ],
)
def test_updates_edits_and_removals_are_let_in(before: list[Dataset], new: Dataset) -> None:
    books(opened(), *before).check(new)


def test_a_price_is_paid_for_the_rows_of_now() -> None:
    found = books(opened(), dataset(3))
    found.check(spend(versions={"visits": 3}))
    with pytest.raises(Refusal, match="other rows"):
        found.check(spend(versions={"visits": 2}))
    with pytest.raises(Refusal, match="no table 'wards'"):
        found.check(spend(versions={"visits": 3, "wards": 1}))
    gone = books(opened(), dataset(3), dataset(4, declaration=REMOVED))
    for version in (3, 4):
        with pytest.raises(Refusal, match="no table 'visits'"):
            gone.check(spend(versions={"visits": version}))


def test_grants_are_checked_where_it_is_paid_and_end_with_their_table() -> None:
    ana = Grant("ana", "analyst", ["visits"], None, None)
    found = books(opened(), dataset(1), dataset(1, table="more"), ana)
    found.check(spend(who="ana"))
    with pytest.raises(Refusal, match="there is no table 'more'"):
        found.check(Spend("patients", Pure(1), "ana", "q", ["visits", "more"], None))
    again = books(opened(), dataset(1), ana, dataset(2, declaration=REMOVED), dataset(3))
    with pytest.raises(Refusal, match="there is no table 'visits'"):
        again.check(spend(who="ana"))
    assert again.grants["ana"].tables == []


def test_an_allowance_in_another_measure_is_refused_by_name() -> None:
    rho = Opened("patients", Concentrated(1), AddRemove("patients"))
    found = books(rho, Grant("ana", "analyst", None, Approximate(1, "1e-6"), None))
    for price in ("0.1", "10"):
        with pytest.raises(
            Refusal, match=r"your allowance is kept in epsilon and delta, the budget of '\w+' in rho"
        ) as said:
            found.check(Spend("patients", Concentrated(price), "ana", "q", [], None))
        assert not isinstance(said.value, OverBudget)


def test_a_price_beyond_an_allowance_is_refused_as_such() -> None:
    found = books(opened(), Grant("ana", "analyst", None, Pure("0.5"), None), spend("0.4", who="ana"))
    with pytest.raises(OverBudget, match=r"^this costs epsilon 0.2, and 0.1 of 0.5 is left of your allowance;"):
        found.check(spend("0.2", who="ana"))
    found.check(spend("0.1", who="ana"))


def test_an_answer_answers_the_question_that_was_paid() -> None:
    found = books(opened(), spend())
    found.check(StoredAnswer(2, "q", None))
    with pytest.raises(Refusal, match="not a payment"):
        found.check(StoredAnswer(2, "another", None))


@pytest.mark.parametrize("loss", [Pure(f"1/{2**200}"), Pure(f"{2**200 - 1}/{2**200 + 1}")])
def test_a_price_that_would_make_every_sum_long_is_refused(loss: Pure) -> None:
    with pytest.raises(Refusal, match="too many digits") as said:
        books(opened()).check(Spend("patients", loss, "custodian", "q", [], None))
    assert not isinstance(said.value, OverBudget)


def test_a_long_delta_is_refused_as_a_long_epsilon_is() -> None:
    found = books(Opened("patients", Approximate(1, "1e-6"), AddRemove("patients")))
    found.check(Spend("patients", Approximate("0.1", f"1/{2**199}"), "custodian", "q", [], None))
    with pytest.raises(Refusal, match="too many digits"):
        found.check(Spend("patients", Approximate("0.1", f"1/{2**200}"), "custodian", "q", [], None))
    rho = books(Opened("patients", Concentrated(1), AddRemove("patients")))
    rho.check(Spend("patients", Concentrated(f"1/{2**199}"), "custodian", "q", [], None))
    with pytest.raises(Refusal, match="too many digits"):
        rho.check(Spend("patients", Concentrated(f"1/{2**200}"), "custodian", "q", [], None))


# what is read back ----------------------------------------------------------------------------------------------------


def test_a_grant_opens_no_answers_about_a_removed_table_of_the_same_name() -> None:
    removed = dataset(2, declaration=REMOVED, file="")
    ann, al = Grant("ann", "analyst", ["visits"], None, None), Grant("al", "analyst", None, None, None)
    paid = [spend(versions={"visits": 1}), spend(), spend(versions={"visits": 3})]  # the second says no version
    before, after = books(opened(), dataset(1)), books(opened(), dataset(1), removed, dataset(3))
    assert [before.may_read(ann, each) for each in paid] == [True, True, True]
    assert [after.may_read(ann, each) for each in paid] == [False, False, True]
    for reader in (al, None):  # who may ask about everything
        assert [after.may_read(reader, each) for each in paid] == [True, True, True]
    assert not after.may_read(Grant("bob", "analyst", ["shifts"], None, None), paid[2])


WRITTEN: list[Event] = [
    opened(),
    dataset(1, link="a=b.c"),
    Grant("ana", "analyst", ["visits"], Pure(1), {"sha256": "ab"}, require_price=True),
    Revoked("ana"),
    spend(versions={"visits": 1}),
    StoredAnswer(2, "q", None),
    Retired("patients"),
    Hold("patients", held=True),
]
FREE = {("spend", "what"), ("answer", "answer")}  # parts that may be anything
PARTS = [(event, part.name) for event in WRITTEN for part in fields(event) if (event.kind, part.name) not in FREE]
NULL = {("dataset", "population"), ("dataset", "unit")} | {
    ("grant", part) for part in ("tables", "allowance", "verifier")
}


@pytest.mark.parametrize(("event", "part"), PARTS, ids=lambda value: value if isinstance(value, str) else value.kind)
def test_every_part_of_an_entry_has_its_type(event: Event, part: str) -> None:
    body = write_event(event)
    assert read_event(body) == event
    wrong: list[Plain] = [7, "7", True, [7], {"7": 7}, [["visits"]]]
    for value in wrong:
        if type(value) is not type(body[part]) or isinstance(body[part], list):
            with pytest.raises(Refusal):
                read_event({**body, part: value})
    if (event.kind, part) in NULL:
        assert getattr(read_event({**body, part: None}), part) is None
    else:
        with pytest.raises(Refusal):
            read_event({**body, part: None})


@pytest.mark.parametrize(
    "change",
    [
        {"kind": ["hold"]},
        {"kind": None},
        {"more": 1},
        {"total": {"measure": ["pure"], "epsilon": "1"}},
        {"neighbours": {"relation": ["replace"], "unit": "row"}},
        {"neighbours": {"relation": "replace"}},
        {"neighbours": {"relation": "replace", "unit": 1}},
        {"neighbours": {"relation": "replace", "unit": "row", "more": 1}},
    ],
)
def test_an_entry_that_is_not_of_its_kind_is_refused(change: dict[str, Plain]) -> None:
    with pytest.raises(Refusal):
        read_event({**write_event(opened()), **change})
    with pytest.raises(Refusal, match="other parts"):
        read_event({"kind": "hold", "population": "patients"})


@pytest.mark.parametrize("change", [{"number": True}, {"number": "1"}, {"time": 1}, {"nonce": None}, {"event": []}])
def test_an_entry_has_its_number_time_and_nonce(change: dict[str, Plain]) -> None:
    whole: dict[str, Plain] = {"number": 1, "time": "t", "nonce": "n", "event": write_event(opened())}
    assert read_entry(canonical(whole), "00" * 32).event == opened()
    with pytest.raises(Refusal):
        read_entry(canonical({**whole, **change}), "00" * 32)
    with pytest.raises(Refusal):
        read_entry(canonical([whole]), "00" * 32)


# in a file ------------------------------------------------------------------------------------------------------------


def test_a_file_with_an_entry_of_wrong_types_is_refused_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    SqliteLedger(path).append(opened())
    first = SqliteLedger(path).entries()[0].hash
    odd = {"kind": "grant", "principal": "ana", "role": "analyst", "tables": 7, "allowance": None, "verifier": None}
    body = canonical({"number": 2, "time": "t", "nonce": "n", "event": odd})  # type: ignore[dict-item]
    digest = hashlib.sha256(b"discreet-entry\0" + bytes.fromhex(first) + body).hexdigest()
    with closing(sqlite3.connect(path)) as file:
        file.execute("INSERT INTO entry (number, hash, body) VALUES (2, ?, ?)", (digest, body))
        file.commit()
    for read in (SqliteLedger(path).books, SqliteLedger(path).entries):
        with pytest.raises(Refusal, match="entry 2"):
            read()
    assert not verify(SqliteLedger(path).rows()).holds


def test_a_hold_that_was_lifted_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger, custodian = SqliteLedger(path), SqliteLedger(path)
    ledger.append(opened())
    kept = path.rename(tmp_path / "away")
    ledger.hold("patients")  # there is nothing to write it to
    kept.rename(path)
    custodian.append(Hold("patients", held=False))  # after the hold that was owed
    assert [entry.event for entry in custodian.entries()][1:] == [Hold("patients", held=at) for at in (True, False)]
    ledger.append(spend())
    assert not ledger.books().account("patients").held
    assert len(ledger.entries()) == 4


@pytest.mark.parametrize("loss", [Profile.gaussian(1), Renyi.gaussian(1), Gaussian(1), 1, "1"], ids=str)
def test_no_entry_holds_a_loss_that_it_cannot_be_read_back_from(tmp_path: Path, loss: Any) -> None:  # noqa: ANN401
    """A number for an allowance was written once, and no entry after it could be read."""
    ledger = SqliteLedger(tmp_path / "ledger.db")
    ledger.append(opened())
    wrong: list[Event] = [
        Opened("others", loss, AddRemove()),
        Grant("ana", "analyst", None, loss, None),
        Spend("patients", loss, "custodian", "q", [], None),
    ]
    for event in wrong:
        with pytest.raises(Refusal):
            ledger.append(event)
    ledger.append(Spend("patients", Pure(1), "custodian", "q", [], None))
    assert verify(ledger.rows()).holds


# sessions -------------------------------------------------------------------------------------------------------------


def session(loss: Any, question: str = "") -> Spend:  # noqa: ANN401
    return Spend("patients", loss, "custodian", question or session_question("patients"), [], None)


def rho(amount: object, delta: object = 0) -> Spend:
    return Spend("patients", Concentrated(amount, delta), "custodian", "q", [], None)  # type: ignore[arg-type]


def test_a_session_is_open_until_its_answer_and_only_then_a_delta_of_rho_fits() -> None:
    begun = Opened("patients", Concentrated(9, "0.1"), AddRemove("patients"))
    first, second = session(Concentrated(1)), session(Concentrated(1))
    events: list[Event] = [begun, rho(1, "0.01"), first, rho(1), second]
    assert books(*events).accounts["patients"].budget.sessions == 2
    events.append(StoredAnswer(3, first.question, []))
    with pytest.raises(Refusal, match="beside an open session only charges without a delta"):
        books(*events, rho(1, "0.01"))
    events.append(StoredAnswer(5, second.question, []))
    assert books(*events, rho(1, "0.01")).accounts["patients"].budget.spent == Concentrated(5, "0.02")
    with pytest.raises(Refusal, match="not proven beside other questions"):
        books(begun, session(Concentrated(1, "0.01")))
    with pytest.raises(Refusal, match="not a payment that waits"):
        books(*events, StoredAnswer(3, first.question, []))
    with pytest.raises(Refusal, match="the budget that its question names"):
        books(begun, session(Concentrated(1), session_question("others")))


def test_a_checkpoint_knows_of_open_sessions_and_adoptions() -> None:
    state = beginning()
    told: list[Event] = [opened(), session(Pure("0.5")), session(Pure("0.5")), Adopted("copy", "00" * 32)]
    key = Ed25519PrivateKey.generate()
    for number, event in enumerate(told, start=1):
        state, _ = state.following(Entry(number, "", "", state.last, event))
        again = read_checkpoint(state.text(), seal(state.text(), key), key)
        assert again.books.accounts == state.books.accounts
        assert again.books.adopted == state.books.adopted
    assert (state.books.accounts["patients"].budget.sessions, state.books.adopted) == (2, 4)
    plain = beginning()
    plain, _ = plain.following(Entry(1, "", "", GENESIS, opened()))
    assert not {b"sessions", b"adopted"} & set(re.findall(rb"[a-z]+", plain.text()))  # as it always was
