"""Keeper of a home's heads: it sees to it that the newest head of the ledger is known outside the home.

Guarantee: nothing is paid in a ledger that does not go on from the newest head that a witness keeps; and before
    anything is read for a payment, every witness keeps a head with that payment in it.
Proof: the record in the state folder is compared, the entries are committed and the record is replaced under one lock,
    which belongs to the ledger's key: a copy of the home has the same. The new record is on the disk, beside the old
    one, before the commit, and takes its place after it. A crash in between leaves a record that lags behind a ledger
    which goes on from it, and nobody was answered yet; a record never tells of entries that were not committed. Other
    witnesses compare and replace in one step each, and are told after the commit.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet import durable
from discreet.errors import Busy, Fault, Refusal
from discreet.ledger.balances import OWNER
from discreet.ledger.entry_kinds import Event, Hold, Retired, Revoked, Spend, StoredAnswer
from discreet.ledger.index import WITNESSED, Checkpoint, Past, marked
from discreet.ledger.read_snapshot import View
from discreet.ledger.signed_head import Head, now, public_part, sign_root
from discreet.ledger.witness import (
    STATE,
    Outside,
    Unreachable,
    Witness,
    alone,
    closed,
    put,
    put_aside,
    read_kept,
    state_folder,
)

_PAUSE = 2.0  # seconds for which a witness that could not be reached is not asked again
_TRIES = 20  # as many others may have looked before we wrote, and tell after it
IN_ALL = 10.0  # seconds that all witnesses together have to be asked before a payment, and to be told after it
Reached = Sequence[tuple[Witness, Head]]
Look = Callable[[], AbstractContextManager[View]]
Prepare = Callable[[View, Checkpoint], Callable[[], None]]  # before the commit, and what is to be done after it
Pen = AbstractContextManager[Prepare]


def nowhere(_: View, __: Checkpoint) -> Callable[[], None]:
    """Keep nothing outside."""
    return lambda: None


def _at_best(prepare: Prepare) -> Prepare:
    """The same where it can be done, and nothing where not."""

    def prepared(view: View, after: Checkpoint) -> Callable[[], None]:
        try:
            put = prepare(view, after)
        except Refusal:
            return lambda: None

        def put_at_best() -> None:
            with suppress(Refusal):
                put()

        return put_at_best

    return prepared


class Unkept(Outside):
    """It is in the ledger, and a witness was not told of it."""


class Refuted(Outside):
    """A ledger does not go on from what a witness knows of it."""


class Elsewhere(Outside):
    """This home is not known to be the one whose head is kept: it may be a copy. It can be adopted."""


@dataclass(frozen=True)
class Record:
    """What the state folder keeps of a ledger: its newest head, and where its home is."""

    head: Head
    home: str
    place: str  # what stays the same when a folder is moved, and is another in a copy
    origin: str  # the hash of the first entry; empty before there is one

    def text(self) -> str:
        """As JSON."""
        return json.dumps(self.__dict__ | {"head": self.head.__dict__})


def _folder() -> Path:
    return state_folder() / "heads"


def _pointer(origin: str) -> Path:
    return _folder() / f"{origin}.origin"


def known_as(origin: str) -> str | None:
    """The key under which the ledger with this first entry is known in the state folder; None if it is not."""
    try:
        return _pointer(origin).read_text() if origin else None
    except OSError:
        return None


@dataclass
class Keeper:
    """Keeps the heads of the ledger in one home."""

    home: Path
    key: Ed25519PrivateKey
    others: Sequence[Witness] = ()
    adopting: bool = False  # whether a copy is being made the home that answers
    down: dict[str, tuple[float, Unreachable]] = field(default_factory=dict)  # until when one is not asked again
    keeping: set[str] = field(default_factory=set)  # those that kept what they were told last
    written: tuple[str, Record] | None = None  # what was put aside here last, which need not be read to be known

    @cached_property
    def name(self) -> str:
        """What a ledger is known by."""
        return public_part(self.key)

    @contextmanager
    def pen(self, reached: Reached, *, binding: bool) -> Iterator[Prepare]:
        """How a ledger that is being written has its next head kept; what does not bind is written in any case."""
        with ExitStack() as locked:
            prepare: Prepare = lambda view, after: self._prepared(view, after, reached)  # noqa: E731  # one of two
            try:
                locked.enter_context(self.alone())
            except (Unreachable, Busy):
                if binding:
                    raise
                prepare = nowhere
            yield prepare if binding else _at_best(prepare)

    def _prepared(self, view: View, after: Checkpoint, reached: Reached) -> Callable[[], None]:
        for witness, head in reached:
            if not view.past.begins_with(head):
                raise behind(head, view.past, witness.where)
        record = self.refuse(view, marked=marked(view.file, WITNESSED))
        return self._next(after, view.origin or (after.last if after.books.size == 1 else ""), record)

    def bring_up(self, view: View, state: Checkpoint, *, marked: bool) -> None:
        """Refuse a ledger that is not the one that is known; else let the state folder know how far it came."""
        record = self.refuse(view, marked=marked)
        here = self._path, self._place
        said = None if record is None else (record.head.size, record.origin, record.home, record.place)
        pointed = not view.origin or known_as(view.origin) is not None
        if said != (view.size, view.origin, *here) or not pointed:
            self._next(state, view.origin, record if pointed else None)()

    # the state folder ------------------------------------------------------------------------------------------------

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Alone with the record of this ledger, whichever copy of the home it is asked from."""
        with ExitStack() as locked:
            try:
                folder = _folder()
                durable.make_folder(folder)
                locked.enter_context(alone(folder, self.name))
            except OSError as broken:
                raise _unkept(broken) from None
            yield

    @property
    def file(self) -> Path:
        """Where the record is."""
        return _folder() / f"{self.name}.json"

    def record(self) -> Record | None:
        """What is kept of this ledger; None if nothing is."""
        try:
            text = self.file.read_text()
            if self.written is not None and text == self.written[0]:
                return self.written[1]
            head, rest = read_kept(text, self.name)
            home, place, origin = (str(rest[part]) for part in ("home", "place", "origin"))
        except FileNotFoundError:
            return None
        except OSError as broken:
            raise _unkept(broken) from None
        except (ValueError, KeyError):
            raise Elsewhere(
                f"{self.file} is not the head of a ledger any more",
                hint="put it back as it was; if that cannot be, remove it, and adopt the home",
            ) from None
        return Record(head, home, place, origin)

    def refuse(self, view: View, *, marked: bool) -> Record | None:
        """Refuse a ledger that does not go on from the head that is kept, and a home that is another than is known."""
        record = self.record()
        self._refuse_other_key(view.origin)
        if record is None:
            if (marked or known_as(view.origin) is not None) and not self.adopting:
                raise Elsewhere(
                    f"no head of this ledger is kept in {_folder()}: this home is a copy, or that folder is "
                    "another than it was",
                    hint=f"set {STATE} to the folder where its head is kept, or {_ADOPT}",
                )
            return None
        here = record.home == self._path or record.place == self._place
        if not view.past.begins_with(record.head):
            raise behind(
                record.head, view.past, str(self.file), "" if here else f"; it is known to be in {record.home}"
            )
        if not here and not self.adopting:
            raise Elsewhere(
                f"this home is a copy: its ledger is known to be in {record.home}",
                hint=f"use that one, or {_ADOPT}; the other one then answers nothing any more",
            )
        return record

    def _refuse_other_key(self, origin: str) -> None:
        """Refuse a ledger whose first entry is known under another key: with a new one it would be a new ledger."""
        signed = known_as(origin)
        if signed not in (self.name, None):
            raise Refusal(
                f"ledger.key is not the key {signed} that this ledger's heads were signed with",
                hint="put the first one back",
            )

    def _next(self, after: Checkpoint, origin: str, known: Record | None) -> Callable[[], None]:
        """Write the next record beside the one that lies there; what is returned puts it in its place."""
        head = sign_root(after.frontier.size, after.frontier.root, now(), self.key)
        record = Record(head, self._path, self._place, origin)
        self.written = record.text(), record
        texts = {self.file: self.written[0]}
        if origin and (known is None or known.origin != origin):
            texts[_pointer(origin)] = self.name  # after the record: what is known under a key has one
        try:
            asides = [(put_aside(file, text), file) for file, text in texts.items()]
        except OSError as broken:
            raise _unkept(broken) from None
        return lambda: self._put(asides)

    def _put(self, asides: Sequence[tuple[Path, Path]]) -> None:
        try:
            for aside, file in asides:
                put(aside, file)
        except OSError as broken:
            raise Unkept(f"it is written, but its head is not kept in {self.file}: {broken.strerror}") from None

    @property
    def _path(self) -> str:
        return str(self.home.resolve())

    @property
    def _place(self) -> str:
        folder = os.stat(self.home)  # noqa: PTH116  # every payment looks
        return f"{folder.st_dev}:{folder.st_ino}"

    # other witnesses -------------------------------------------------------------------------------------------------

    def reach(self, look: Look) -> Reached:
        """What every other witness keeps now. Refuses if one cannot be asked, has lost what it kept, or keeps no more.

        One that may still be read and not be written is noticed before the next payment, and not after each.
        """
        end = time.monotonic() + IN_ALL
        return [(witness, self._ready(witness, look, end)) for witness in self.others]

    def _ready(self, witness: Witness, look: Look, end: float) -> Head:
        head = self.asked(witness, end)
        if witness.where in self.keeping:
            return head
        with look() as view:
            size = view.size
        head = told(witness, head, look, size, self.key, end=end)
        self.keeping.add(witness.where)
        return head

    def asked(self, witness: Witness, end: float = math.inf) -> Head:
        """What one witness keeps of this ledger, if it says so before a moment."""
        until, why = self.down.get(witness.where, (0.0, None))
        if why is not None and time.monotonic() < until:
            raise Unreachable(why.message, hint=why.hint)  # nobody else waits for it now
        seconds = _left(witness, end)
        try:
            head = witness.newest(self.name, seconds)
        except Unreachable as broken:
            self.down[witness.where] = time.monotonic() + _PAUSE, broken
            raise
        if head is None:
            raise Unreachable(
                f"the witness {witness.where} keeps no head of this ledger any more",
                hint=f"see why; discreet ledger witness add {witness.where} begins anew with it",
            )
        return head

    def compare(self, witness: Witness, look: Look, end: float = math.inf) -> Head:
        """What a witness keeps. Refuses a ledger that does not go on from it."""
        head = self.asked(witness, end)
        with look() as view:
            if not view.past.begins_with(head):
                raise behind(head, view.past, witness.where)
        return head

    def tell(self, reached: Reached, look: Look, size: int) -> None:
        """Have every other witness keep a head of so many entries at least."""
        end = time.monotonic() + IN_ALL
        self.keeping.difference_update(witness.where for witness, _ in reached)
        try:
            for witness, known in reached:
                told(witness, known, look, size, self.key, end=end)
                self.keeping.add(witness.where)
        except Busy:
            raise Unkept("it is written, but no witness was told: another program has the ledger") from None
        except Refusal as broken:
            raise Unkept(f"it is written, but {broken.message}", hint=broken.hint) from None


def told(  # noqa: PLR0913  # whom, what it has, of which ledger, and until when
    witness: Witness, known: Head | None, look: Look, size: int, key: Ed25519PrivateKey, *, end: float | None = None
) -> Head:
    """Have one witness keep a head of so many entries at least; the one that it keeps then.

    The ledger is looked at anew each time: others write and tell as well, and what they tell from now on has so many.
    """
    end = time.monotonic() + IN_ALL if end is None else end
    for _ in range(_TRIES):
        with look() as view:
            if known is not None and not view.past.begins_with(known):
                raise behind(known, view.past, witness.where)
            if known is not None and known.size >= size:
                return known
            head, since = view.head(now(), key), () if known is None else view.past.since(known.size)
        if witness.keep(head, known, since, _left(witness, end)):
            return head
        known = witness.newest(head.key, _left(witness, end))
    raise Unreachable(f"the witness {witness.where} keeps other heads than it is told")


def _left(witness: Witness, end: float) -> float:
    """The seconds until a moment; refuses if it is over."""
    seconds = end - time.monotonic()
    if seconds <= 0:
        raise Unreachable(f"the witness {witness.where} does not come to an end", hint="try again when it is faster")
    return seconds


_ADOPT = "if it is to answer: discreet ledger adopt NAME --head HASH, with the root of its newest head"


def behind(head: Head, past: Past, where: str, more: str = "") -> Refuted:
    """Why a ledger is refused that is not the one that a witness knows."""
    hint = f"put the newest ledger back{more}; what was spent stays spent"
    if head.size > past.frontier.size:
        return Refuted(
            f"this ledger has {past.frontier.size} entries, and {head.size} were known on {head.time} ({where}): "
            "it was cut or rolled back",
            hint=hint,
        )
    return Refuted(
        f"this ledger is not the one whose {head.size} entries were known on {head.time} ({where}): it was rewritten, "
        "or is a copy that went its own way",
        hint=hint,
    )


def _unkept(broken: OSError) -> Unreachable:
    return Unreachable(
        f"the head of this ledger cannot be kept outside its home: {broken.strerror}: {broken.filename}",
        hint=f"name a folder that you may write in {STATE}",
    )


def binds(event: Event) -> bool:
    """Whether a budget or a right depends on an event. What was answered is paid already; the rest of these only close.

    So people are shut out, and populations closed, also while a witness cannot be reached.
    """
    return not isinstance(event, StoredAnswer | Revoked | Retired) and not (isinstance(event, Hold) and event.held)


def told_payer(outside: Outside, events: Sequence[Event]) -> Exception:
    """What is said to who pays: if it is written, that it stays spent; and of witnesses and folders only at home."""
    spends = [event for event in events if isinstance(event, Spend)]
    if spends and isinstance(outside, Unkept):
        return Fault()
    if any(spend.principal != OWNER for spend in spends):
        return closed()
    return outside
