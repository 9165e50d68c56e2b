"""What happened, as plain frozen data. The meaning of a kind never changes; a new meaning is a new kind."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from discreet.errors import Refusal
from discreet.exact import shown
from discreet.privacy import AddRemove, Approximate, Concentrated, Neighbours, Pure, Replace

Plain = None | bool | int | str | list["Plain"] | dict[str, "Plain"]
BudgetLoss = Pure | Approximate | Concentrated  # the measures that a population's budget may have

_MEASURES: dict[str, type[BudgetLoss]] = {"pure": Pure, "approximate": Approximate, "concentrated": Concentrated}
_RELATIONS: dict[str, type[Neighbours]] = {"add-remove": AddRemove, "replace": Replace}
_RATIONAL = re.compile(r"-?[0-9]+(/[0-9]+)?")  # as Python writes one; no exponent, which could stand for any length
_LONGEST = 4000  # digits of a number: Python reads and writes no whole number of more than 4300
_DEEPEST = 64  # lists in lists: an answer has three

REMOVED = "removed"  # the declaration of a table whose rows were forgotten
SESSION = "session "  # how the question of a payment begins that buys a session; any other is a digest


@dataclass(frozen=True)
class Opened:
    """A population gets its budget, once and for all, and its neighbour relation."""

    kind: ClassVar[str] = "budget"
    population: str
    total: BudgetLoss
    neighbours: Neighbours


@dataclass(frozen=True)
class Dataset:
    """A table got a new version of its rows or its declarations, or was removed (a version of its own)."""

    kind: ClassVar[str] = "dataset"
    table: str
    population: str | None
    unit: str | None  # the column that owns a row; None: every row is its own unit, or the table is public
    version: int
    declaration: str  # digest of what is declared about it
    file: str = ""  # the random name that was written into the file of its rows, so that no other passes for it
    link: str = ""  # COLUMN=TABLE.COLUMN through which its rows found their owners; "-": by none; empty: not written


@dataclass(frozen=True)
class Grant:
    """A person may ask: role, tables (None: all), and how much of the population's budget (None: what is left)."""

    kind: ClassVar[str] = "grant"
    principal: str
    role: str
    tables: list[str] | None
    allowance: BudgetLoss | None
    verifier: dict[str, Plain] | None  # of the token; never the token
    require_price: bool = False  # whether each of their questions must name a price


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
    versions: dict[str, Plain] = field(default_factory=dict)  # of the tables, as the question was planned


def session_question(population: str) -> str:
    """The question of a payment for a session. It waits for its answer, all that was said, until it is closed."""
    return f"{SESSION}{secrets.token_hex(16)} {population}"


def session_population(question: str) -> str | None:
    """Whose budget paid for a session with this question; None if it is no session's."""
    return question.split(" ", 2)[2] if question.startswith(SESSION) and question.count(" ") > 1 else None


def stream_name(spend: Spend) -> str:
    """The name of the stream that was bought; nothing if something else was."""
    match spend.what:
        case {"stream": str(name)} if session_population(spend.question) is not None:
            return name
    return ""


def visitors_name(spend: Spend) -> str:
    """The name of the memory of visitors that was bought; nothing if something else was."""
    match spend.what:
        case {"visitors": str(name)} if session_population(spend.question) is not None:
            return name
    return ""


@dataclass(frozen=True)
class StoredAnswer:
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


@dataclass(frozen=True)
class Adopted:
    """A copy of a home was made the one that answers, under a name, by somebody who knew the head that it had."""

    kind: ClassVar[str] = "adopt"
    name: str
    head: str  # the root of all entries before this one


# parts that were added to a kind after the first ledgers were written
_LATER = ("file", "link", "versions", "require_price")
Event = Opened | Dataset | Grant | Revoked | Spend | StoredAnswer | Retired | Hold | Adopted
_KINDS: dict[str, type[Any]] = {
    event.kind: event for event in (Opened, Dataset, Grant, Revoked, Spend, StoredAnswer, Retired, Hold, Adopted)
}


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


# Whether a value read from JSON is what an annotation of the kinds above says.
_FITS: dict[str, Callable[[object], bool]] = {
    "str": lambda value: isinstance(value, str),
    "str | None": lambda value: value is None or isinstance(value, str),
    "int": lambda value: type(value) is int,
    "bool": lambda value: isinstance(value, bool),
    "list[str]": _texts,
    "list[str] | None": lambda value: value is None or _texts(value),
    "dict[str, Plain]": lambda value: isinstance(value, dict),
    "dict[str, Plain] | None": lambda value: value is None or isinstance(value, dict),
    "Plain": lambda _: True,
    "BudgetLoss": lambda value: isinstance(value, BudgetLoss),
    "BudgetLoss | None": lambda value: value is None or isinstance(value, BudgetLoss),
    "Neighbours": lambda value: isinstance(value, (AddRemove, Replace)),
}


def canonical(body: Plain) -> bytes:
    """One text for one value: keys sorted, no blanks, no floats."""
    _refuse_odd(body)
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    refuse_half_characters(text)
    return text.encode()


def refuse_half_characters(text: str) -> None:
    """Refuse text that no file can hold: Python reads what is not UTF-8 on a command line into halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refusal(f"this text has half a character in it: {text[:60]!a}", hint="write it in UTF-8") from None


def _refuse_odd(body: object, depth: int = 0) -> None:
    """Whatever JSON would write in two ways, or not read back as it was."""
    if isinstance(body, float):
        raise Refusal(f"a ledger entry holds no float, got {body!r}", hint="write it as text")
    if depth > _DEEPEST:
        raise Refusal(f"a ledger entry holds at most {_DEEPEST} lists in lists")
    if isinstance(body, dict):
        for key, value in body.items():
            if type(key) is not str:
                raise Refusal(f"a ledger entry names its parts by text, got {key!r}")
            _refuse_odd(value, depth + 1)
    elif isinstance(body, list):
        for value in body:
            _refuse_odd(value, depth + 1)
    elif body is not None and type(body) not in (bool, int, str):
        raise Refusal(f"a ledger entry holds plain values, got a {type(body).__name__}")


def write_loss(loss: BudgetLoss) -> dict[str, Plain]:
    """A loss as JSON, exactly."""
    measure = next(name for name, kind in _MEASURES.items() if type(loss) is kind)
    return {"measure": measure, **{part.name: _write_rational(getattr(loss, part.name)) for part in fields(loss)}}


def read_loss(body: Plain) -> BudgetLoss:
    """The loss that `write_loss` wrote."""
    if not isinstance(body, dict) or not _among(_MEASURES, body.get("measure")):
        raise Refusal(f"expected a loss with a measure of {sorted(_MEASURES)}, got {body!r}")
    measure = _MEASURES[str(body["measure"])]
    if set(body) != {"measure", *(part.name for part in fields(measure))}:
        raise Refusal(f"a loss of measure {body['measure']!r} has other parts than {sorted(body)}")
    return measure(**{key: _read_rational(value) for key, value in body.items() if key != "measure"})


def _write_rational(number: Fraction) -> str:
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > 3 * _LONGEST:  # 2^3 < 10: a bit more
        raise Refusal(f"a price has at most {_LONGEST} digits", hint="name a shorter number")
    return str(number)


def _read_rational(text: Plain) -> Fraction:
    """The number that this text is the one spelling of."""
    if not isinstance(text, str) or len(text) > 2 * _LONGEST + 2 or not _RATIONAL.fullmatch(text):
        raise Refusal(f"a number of a ledger entry is not written as one: {shown(text)}")
    top, _, bottom = text.partition("/")
    if max(len(top), len(bottom)) > _LONGEST + 1 or (bottom and not bottom.strip("0")):
        raise Refusal(f"a number of a ledger entry is not written as one: {shown(text)}")
    number = Fraction(int(top), int(bottom or 1))
    if str(number) != text:
        raise Refusal(f"a number of a ledger entry has one spelling, {number}")
    return number


def write_neighbours(neighbours: Neighbours) -> dict[str, Plain]:
    """A neighbour relation as JSON."""
    relation = next(name for name, kind in _RELATIONS.items() if type(neighbours) is kind)
    return {"relation": relation, "unit": neighbours.unit}


def read_neighbours(body: Plain) -> Neighbours:
    """The relation that `write_neighbours` wrote."""
    if not isinstance(body, dict) or not _among(_RELATIONS, body.get("relation")):
        raise Refusal(f"expected a relation of {sorted(_RELATIONS)}, got {body!r}")
    if set(body) != {"relation", "unit"} or not isinstance(body["unit"], str):
        raise Refusal(f"a relation has a unit, which is a text, and nothing else, got {shown(body)}")
    return _RELATIONS[str(body["relation"])](body["unit"])


def write_event(event: Event) -> dict[str, Plain]:
    """An event as JSON. What could not be read back is refused: a loss that is a number, or fills no budget."""
    _refuse_unfit(type(event), {part.name: getattr(event, part.name) for part in fields(event)})
    body: dict[str, Plain] = {"kind": event.kind}
    for part in fields(event):
        value = getattr(event, part.name)
        if part.name in _LATER and not value:
            continue  # entries from before this part was known keep their bytes
        if isinstance(value, (Pure, Approximate, Concentrated)):
            value = write_loss(value)
        elif isinstance(value, (AddRemove, Replace)):
            value = write_neighbours(value)
        body[part.name] = value
    return body


def read_event(body: Plain) -> Event:
    """The event that `write_event` wrote."""
    if not isinstance(body, dict) or not _among(_KINDS, body.get("kind")):
        raise Refusal(f"a ledger entry of an unknown kind: {body.get('kind') if isinstance(body, dict) else body!r}")
    values = {key: value for key, value in body.items() if key != "kind"}
    for key in ("total", "loss", "allowance"):
        if values.get(key) is not None:
            values[key] = read_loss(values[key])  # type: ignore[assignment]
    if "neighbours" in values:
        values["neighbours"] = read_neighbours(values["neighbours"])  # type: ignore[assignment]
    _refuse_unfit(_KINDS[str(body["kind"])], values)
    event: Event = _KINDS[str(body["kind"])](**values)
    return event


def _among(names: Container[str], name: object) -> bool:
    return isinstance(name, str) and name in names


def _refuse_unfit(kind: type[Any], values: Mapping[str, object]) -> None:
    """Everything that follows relies on the types of an event's parts, and whoever wrote the bytes may not have."""
    parts = {part.name: part for part in fields(kind)}
    missing = [name for name in parts if name not in values and name not in _LATER]
    unknown = [name for name in values if name not in parts]
    if missing or unknown:
        raise Refusal(f"a ledger entry of kind {kind.kind!r} has other parts than its kind")
    for name, value in values.items():
        if not _FITS[str(parts[name].type)](value):
            raise Refusal(f"{name!r} of a ledger entry of kind {kind.kind!r} is no {parts[name].type}")


@dataclass(frozen=True)
class Entry:
    """An event in its place: bound to all before it by a hash, to nothing guessable by a nonce."""

    number: int  # from 1
    time: str  # UTC, to the second
    nonce: str
    previous: str
    event: Event

    @cached_property
    def body(self) -> bytes:
        """The bytes that are hashed and stored."""
        return canonical(
            {"number": self.number, "time": self.time, "nonce": self.nonce, "event": write_event(self.event)}
        )

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the previous hash and this body."""
        return chained(self.previous, self.body)


GENESIS = "00" * 32


def chained(previous: str, body: bytes) -> str:
    """The hash of an entry after another."""
    return hashlib.sha256(b"discreet-entry\0" + bytes.fromhex(previous) + body).hexdigest()


def read_entry(body: bytes, previous: str) -> Entry:
    """The entry whose body this is; its bytes must be the canonical ones."""
    parsed = json.loads(body)
    match parsed:
        case {"number": int(number), "time": str(), "nonce": str(), "event": _} if not isinstance(number, bool):
            pass
        case _:
            raise Refusal(f"a ledger entry has a number, a time, a nonce and an event, got {shown(parsed)}")
    entry = Entry(parsed["number"], parsed["time"], parsed["nonce"], previous, read_event(parsed["event"]))
    if entry.body != body:
        raise Refusal(f"entry {parsed['number']} is not written in canonical form")
    return entry
