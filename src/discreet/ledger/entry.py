"""What happened, as plain frozen data. The meaning of a kind never changes; a new meaning is a new kind."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from discreet.errors import Refusal
from discreet.privacy import AddRemove, Approximate, Concentrated, Neighbours, Pure, Replace

Plain = None | bool | int | str | list["Plain"] | dict[str, "Plain"]
BudgetLoss = Pure | Approximate | Concentrated  # the measures that a population's budget may have

_MEASURES: dict[str, type[BudgetLoss]] = {"pure": Pure, "approximate": Approximate, "concentrated": Concentrated}
_RELATIONS: dict[str, type[Neighbours]] = {"add-remove": AddRemove, "replace": Replace}


@dataclass(frozen=True)
class Opened:
    """A population gets its budget, once and for all, and its neighbour relation."""

    kind: ClassVar[str] = "budget"
    population: str
    total: BudgetLoss
    neighbours: Neighbours


@dataclass(frozen=True)
class Dataset:
    """A table got a new version of its rows or its declarations, or was removed (version 0)."""

    kind: ClassVar[str] = "dataset"
    table: str
    population: str | None
    unit: str | None  # the column that owns a row; None: every row is its own unit, or the table is public
    version: int
    declaration: str  # digest of what is declared about it


@dataclass(frozen=True)
class Grant:
    """A person may ask: role, tables (None: all), and how much of the population's budget (None: what is left)."""

    kind: ClassVar[str] = "grant"
    principal: str
    role: str
    tables: list[str] | None
    allowance: BudgetLoss | None
    verifier: dict[str, Plain] | None  # of the token; never the token


@dataclass(frozen=True)
class Revoked:
    """A person may not ask any more."""

    kind: ClassVar[str] = "revoke"
    principal: str


@dataclass(frozen=True)
class Spend:
    """A price was paid, before a row was read. `question` is the key under which the answer is found again."""

    kind: ClassVar[str] = "spend"
    population: str
    loss: BudgetLoss
    principal: str
    question: str
    tables: list[str]
    what: Plain


@dataclass(frozen=True)
class Answer:
    """What was said for a payment: noisy, so it may be said again."""

    kind: ClassVar[str] = "answer"
    spend: int
    question: str
    answer: Plain


@dataclass(frozen=True)
class Retired:
    """Nothing more will ever be asked of this population."""

    kind: ClassVar[str] = "retire"
    population: str


@dataclass(frozen=True)
class Hold:
    """A stated limit was crossed, or a custodian looked at it and lifted the hold."""

    kind: ClassVar[str] = "hold"
    population: str
    held: bool


Event = Opened | Dataset | Grant | Revoked | Spend | Answer | Retired | Hold
_KINDS: dict[str, type[Any]] = {
    event.kind: event for event in (Opened, Dataset, Grant, Revoked, Spend, Answer, Retired, Hold)
}


def canonical(body: Plain) -> bytes:
    """One text for one value: keys sorted, no blanks, no floats."""
    _refuse_floats(body)
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _refuse_floats(body: object) -> None:
    if isinstance(body, float):
        raise Refusal(f"a ledger entry holds no float, got {body!r}", hint="write it as text")
    for part in body.values() if isinstance(body, dict) else body if isinstance(body, list) else ():
        _refuse_floats(part)


def write_loss(loss: BudgetLoss) -> dict[str, Plain]:
    """A loss as JSON, exactly."""
    measure = next(name for name, kind in _MEASURES.items() if type(loss) is kind)
    return {"measure": measure, **{field.name: str(getattr(loss, field.name)) for field in fields(loss)}}


def read_loss(body: Plain) -> BudgetLoss:
    """The loss that `write_loss` wrote."""
    if not isinstance(body, dict) or body.get("measure") not in _MEASURES:
        raise Refusal(f"expected a loss with a measure of {sorted(_MEASURES)}, got {body!r}")
    numbers = {key: Fraction(str(value)) for key, value in body.items() if key != "measure"}
    return _MEASURES[str(body["measure"])](**numbers)


def write_neighbours(neighbours: Neighbours) -> dict[str, Plain]:
    """A neighbour relation as JSON."""
    relation = next(name for name, kind in _RELATIONS.items() if type(neighbours) is kind)
    return {"relation": relation, "unit": neighbours.unit}


def read_neighbours(body: Plain) -> Neighbours:
    """The relation that `write_neighbours` wrote."""
    if not isinstance(body, dict) or body.get("relation") not in _RELATIONS:
        raise Refusal(f"expected a relation of {sorted(_RELATIONS)}, got {body!r}")
    return _RELATIONS[str(body["relation"])](str(body["unit"]))


def write_event(event: Event) -> dict[str, Plain]:
    """An event as JSON."""
    body: dict[str, Plain] = {"kind": event.kind}
    for field in fields(event):
        value = getattr(event, field.name)
        if isinstance(value, (Pure, Approximate, Concentrated)):
            value = write_loss(value)
        elif isinstance(value, (AddRemove, Replace)):
            value = write_neighbours(value)
        body[field.name] = value
    return body


def read_event(body: Plain) -> Event:
    """The event that `write_event` wrote."""
    if not isinstance(body, dict) or body.get("kind") not in _KINDS:
        raise Refusal(f"a ledger entry of an unknown kind: {body.get('kind') if isinstance(body, dict) else body!r}")
    values = {key: value for key, value in body.items() if key != "kind"}
    for key in ("total", "loss", "allowance"):
        if values.get(key) is not None:
            values[key] = read_loss(values[key])  # type: ignore[assignment]
    if "neighbours" in values:
        values["neighbours"] = read_neighbours(values["neighbours"])  # type: ignore[assignment]
    event: Event = _KINDS[str(body["kind"])](**values)
    return event


@dataclass(frozen=True)
class Entry:
    """An event in its place: bound to all before it by a hash, to nothing guessable by a nonce."""

    number: int  # from 1
    time: str  # UTC, to the second
    nonce: str
    previous: str
    event: Event

    @property
    def body(self) -> bytes:
        """The bytes that are hashed and stored."""
        return canonical(
            {"number": self.number, "time": self.time, "nonce": self.nonce, "event": write_event(self.event)}
        )

    @property
    def hash(self) -> str:
        """SHA-256 of the previous hash and this body."""
        return hashlib.sha256(b"discreet-entry\0" + bytes.fromhex(self.previous) + self.body).hexdigest()


GENESIS = "00" * 32


def read_entry(body: bytes, previous: str) -> Entry:
    """The entry whose body this is; its bytes must be the canonical ones."""
    parsed = json.loads(body)
    entry = Entry(parsed["number"], parsed["time"], parsed["nonce"], previous, read_event(parsed["event"]))
    if entry.body != body:
        raise Refusal(f"entry {parsed['number']} is not written in canonical form")
    return entry
