"""What an outsider can check without the ledger: true proofs hold, and none holds against another key or history."""

from __future__ import annotations

import copy
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.errors import Refusal
from discreet.ledger import Head, Opened, Spend, SqliteLedger, merkle, sign, signing_key, verify
from discreet.ledger.signed_head import read_head
from discreet.ledger.verify import Extension, Pinned, Receipt, Row, extend, pin, read_proof, receipt
from discreet.privacy import AddRemove, Pure

KEY = Ed25519PrivateKey.generate()


def rows(path: Path, spends: int = 6) -> list[Row]:
    ledger = SqliteLedger(path)
    ledger.append(Opened("patients", Pure(1), AddRemove("patient")))
    for i in range(spends):
        ledger.append(Spend("patients", Pure("0.1"), "custodian", f"q{i}", ["visits"], {"sql": "SELECT 'é'"}))
    found = ledger.rows()
    ledger.close()
    return found


def head(entries: list[Row], size: int | None = None, key: Ed25519PrivateKey = KEY) -> Head:
    return sign([stored for _, stored, _ in entries[:size]], "2026-01-01T00:00:00Z", key)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    return rows(tmp_path_factory.mktemp("ledger") / "l")


@pytest.fixture(scope="module")
def fork(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """The same events under other nonces: right in itself, and another history."""
    return rows(tmp_path_factory.mktemp("fork") / "l")


def test_every_entry_has_a_receipt_that_holds_for_who_kept_the_key_or_any_head(ledger: list[Row]) -> None:
    now = head(ledger)
    for number in range(1, 8):
        assert receipt(ledger, number, now).faults(Pinned(now.key)) == ()
        for size in range(8):
            kept = head(ledger, size)
            told = read_proof(receipt(ledger, number, now, kept).text())
            assert isinstance(told, Receipt)
            assert told == receipt(ledger, number, now, kept)
            assert told.faults(pin(kept)) == ()
            assert told.entry.number == number
            assert told.entry.body == ledger[number - 1][2]


def test_the_ledger_extends_every_head_it_ever_had_and_no_other(ledger: list[Row], fork: list[Row]) -> None:
    now = head(ledger)
    for size in range(8):
        told = read_proof(extend(ledger, head(ledger, size), now).text())
        assert isinstance(told, Extension)
        assert told.faults(pin(head(ledger, size))) == ()
        for other in range(8):
            if other != size:
                assert told.faults(pin(head(ledger, other))) != ()
        if size:  # all ledgers begin alike: with nothing
            assert "do not begin with" in told.faults(pin(head(fork, size)))[0]


def test_a_head_of_nothing_must_be_the_head_of_nothing() -> None:
    leaves = [merkle.leaf(bytes([i])) for i in range(5)]
    empty, root = merkle.root([]), merkle.root(leaves)
    assert merkle.consistency(merkle.kept_in(leaves), 0, 5) == []
    assert merkle.consistent(0, empty, 5, root, [])
    assert not merkle.consistent(0, root, 5, root, [])
    assert not merkle.consistent(0, empty, 5, root, [empty])
    assert not merkle.consistent(5, root, 0, empty, [])


def test_a_proof_that_brings_its_own_key_convinces_nobody(ledger: list[Row]) -> None:
    """Anyone can make a key, and under it a ledger of any content."""
    own = Ed25519PrivateKey.generate()
    forged = head(ledger, key=own)
    kept = head(ledger, 3)
    assert receipt(ledger, 2, forged).faults(Pinned(forged.key)) == ()
    assert "not by the one that you kept" in receipt(ledger, 2, forged).faults(Pinned(kept.key))[0]
    assert "not by the one that you kept" in receipt(ledger, 2, forged).faults(pin(kept))[0]
    bridge = extend(ledger, head(ledger, 3, own), forged)
    assert "not by the one that you kept" in bridge.faults(pin(kept))[0]
    claimed = replace(bridge, head=replace(forged, key=kept.key))  # names the right key, without its signature
    assert claimed.faults(pin(kept)) == ("its head is not signed by its key",)
    with pytest.raises(Refusal, match="another key"):
        extend(ledger, kept, forged)


def test_a_second_history_under_the_same_key_is_seen_by_who_kept_a_head(ledger: list[Row], fork: list[Row]) -> None:
    kept, other = head(ledger, 4), head(fork)
    with pytest.raises(Refusal, match="rewritten"):
        extend(fork, kept, other)
    with pytest.raises(Refusal, match="rewritten"):
        receipt(fork, 2, other, kept)
    lone = receipt(fork, 2, other)
    assert lone.faults(Pinned(kept.key)) == ()  # a key alone cannot tell two histories apart
    assert "does not show" in lone.faults(pin(kept))[0]
    bridge = extend(fork, head(fork, 4), other)
    assert replace(lone, extension=bridge).faults(pin(kept)) == bridge.faults(pin(kept)) != ()
    same_size = receipt(fork, 2, head(fork, 4))
    assert same_size.faults(pin(kept)) != ()


def test_a_bridge_to_another_head_than_the_receipt_s_does_not_count(ledger: list[Row], fork: list[Row]) -> None:
    """An honest extension must not lend its credit to an entry of a second history."""
    kept, honest = head(ledger, 4), extend(ledger, head(ledger, 4), head(ledger))
    body = json.loads(receipt(fork, 2, head(fork)).text())
    body["extends"] = {"size": honest.size, "siblings": honest.siblings}
    assert read_proof(json.dumps(body)).faults(pin(kept)) != ()


def test_an_entry_under_the_very_head_that_was_kept_needs_no_bridge(ledger: list[Row]) -> None:
    assert receipt(ledger[:4], 2, head(ledger, 4)).faults(pin(head(ledger, 4))) == ()


def test_a_ledger_that_was_cut_extends_no_head_of_before(ledger: list[Row]) -> None:
    with pytest.raises(Refusal, match="cut or rolled back"):
        extend(ledger[:5], head(ledger), head(ledger, 5))


def test_a_changed_head_is_no_anchor(ledger: list[Row]) -> None:
    with pytest.raises(Refusal, match="not signed by its key"):
        pin(replace(head(ledger), size=3))


def altered(body: Any) -> Iterator[Any]:  # noqa: ANN401  # any JSON
    """The value with each of its parts changed, one at a time: every leaf, and every list one shorter and longer."""
    if isinstance(body, dict):
        for key, value in body.items():
            yield {other: part for other, part in body.items() if other != key}
            yield from ({**body, key: changed} for changed in altered(value))
        yield {**body, "more": 1}
    elif isinstance(body, list):
        yield body[:-1]
        yield [*body, "00" * 32]
        for place, value in enumerate(body):
            yield from ([*body[:place], changed, *body[place + 1 :]] for changed in altered(value))
    elif isinstance(body, str):
        yield ("1" if body[:1] == "0" else "0") + body[1:]
        yield body.upper() + " "
        yield None
    else:
        yield 4711
        yield 0.5
        yield str(body)


def refused(text: str, pinned: Pinned) -> bool:
    try:
        return read_proof(text).faults(pinned) != ()
    except Refusal:
        return True


@pytest.mark.parametrize("kind", ["receipt", "extension"])
def test_no_changed_proof_holds(ledger: list[Row], kind: str) -> None:
    now, kept = head(ledger), head(ledger, 5)
    proof = receipt(ledger, 3, now, kept) if kind == "receipt" else extend(ledger, kept, now)
    body = json.loads(proof.text())
    assert not refused(json.dumps(body), pin(kept))
    forgeries = [copy.deepcopy(changed) for changed in altered(body) if changed != body]
    assert len(forgeries) > 20
    assert [forgery for forgery in forgeries if not refused(json.dumps(forgery), pin(kept))] == []


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", '{"kind": "receipt"}', "[" * 100_000, '{"kind": "extension", "kind": "extension"}', "NaN"],
)
def test_what_is_no_proof_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(Refusal, match="neither a receipt nor an extension"):
        read_proof(text)


def test_a_name_that_stands_twice_is_refused(ledger: list[Row]) -> None:
    """Else the file could show one entry to its reader and another to the check."""
    text = receipt(ledger, 3, head(ledger)).text()
    twice = text.replace('"number": 3', '"number": 4, "number": 3')
    assert json.loads(twice) == json.loads(text)
    with pytest.raises(Refusal, match="neither"):
        read_proof(twice)
    line = head(ledger).text()
    with pytest.raises(Refusal, match="not a ledger head"):
        read_head(line.replace('"size": 7', '"size": 8, "size": 7'))


@pytest.mark.parametrize(
    "change",
    [{"size": -1}, {"size": "7"}, {"size": 1 << 63}, {"root": "AB" * 32}, {"key": "00"}, {"time": 5}, {"more": 1}],
)
def test_a_head_has_one_spelling(ledger: list[Row], change: dict[str, object]) -> None:
    with pytest.raises(Refusal, match="not a ledger head"):
        read_head(json.dumps({**json.loads(head(ledger).text()), **change}))


@pytest.mark.parametrize("price", ["1/0", "one", "1/99"])
def test_no_receipt_is_written_for_a_changed_entry_and_verify_names_it(tmp_path: Path, price: str) -> None:
    rows(tmp_path / "l", 3)
    raw = sqlite3.connect(tmp_path / "l")
    raw.executescript("DROP TRIGGER entry_stays")
    changed = "CAST(replace(CAST(body AS TEXT), '1/10', ?) AS BLOB)"
    raw.execute(f"UPDATE entry SET body = {changed} WHERE number = 3", (price,))
    raw.commit()
    raw.close()
    found = SqliteLedger(tmp_path / "l").rows()
    now = sign([stored for _, stored, _ in found], "t", signing_key(tmp_path / "key"))
    assert receipt(found, 2, now).faults(Pinned(now.key)) == ()
    with pytest.raises(Refusal, match="entry 3") as refusal:
        receipt(found, 3, now)
    assert "discreet ledger verify" in str(refusal.value)
    assert verify(found).faults[0].startswith("entry 3")
