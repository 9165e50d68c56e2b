"""Releases of a home: paid for once, kept beside the ledger that holds their digests, and given to whoever may ask."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from discreet import durable
from discreet.curator import Curator
from discreet.curator.explain import said
from discreet.curator.run import Offer, RowOutline, Telling, Wanted
from discreet.curator.stage_file import Heard
from discreet.declared.table import chosen
from discreet.desk.ledger_proofs import Notary
from discreet.errors import Refusal
from discreet.exact import shown
from discreet.ledger import Grant, Spend, StoredAnswer
from discreet.ledger.entry_kinds import BudgetLoss, Entry, Plain, refuse_half_characters
from discreet.mechanisms.mechanism import USUAL
from discreet.release import Release, Wish
from discreet.release.certificate import Certificate, held, kept
from discreet.release.folder import copy, digest, file, refuse_taken, write
from discreet.release.release_kind import Preview, ReleaseMechanism, named, publication
from discreet.sql.render import quoted

_LONGEST = 120  # letters of a name


@dataclass(frozen=True)
class ReleaseOrder:
    """What is to be published: of which rows, in what form, and under which name."""

    sql: str  # a SELECT of private rows
    wish: Wish
    name: str = ""
    table: str = ""  # where it is of a table by its name

    @classmethod
    def of(cls, source: str, wish: Wish, name: str = "") -> ReleaseOrder:
        """Of a table by its name, or of a SELECT of rows."""
        refuse_half_characters(source + name)
        if len(name) > _LONGEST or not name.isprintable():
            raise Refusal(f"a release is called by one line of at most {_LONGEST} letters, got {shown(name)}")
        table = "" if len(source.split()) > 1 else source.strip()
        return cls(_selected(table, wish) if table else source, wish, name or _usual(wish), table)

    def spelled(self, curator: Curator) -> ReleaseOrder:
        """The same, its table and columns spelled as they are declared."""
        if not self.table:
            wish = self.wish.spelled(curator.selected(self.sql))
            return replace(self, wish=wish, name=_usual(wish) if self.name == _usual(self.wish) else self.name)
        tables = {table.name: table for table in curator.tables()}
        name = chosen(self.table, tables)
        if name is None:
            return self  # which is refused when it is planned
        wish = self.wish.spelled(column.name for column in tables[name].columns)
        return ReleaseOrder(
            _selected(name, wish), wish, _usual(wish) if self.name == _usual(self.wish) else self.name, name
        )

    @property
    def wanted(self) -> Wanted[Release]:
        """The same, as a curator takes it."""
        told: Plain = {"release": self.wish.told()}
        return Wanted(self.sql, self.chosen, self.wish.max_rows, told)

    def chosen(self, outline: RowOutline) -> ReleaseMechanism:
        """The mechanism for rows of which this is known."""
        fits = named(self.wish.kind).fits
        for column in self.wish.columns:
            if column in outline.people:
                raise Refusal(
                    f"column {column!r} says who people are: a release of it would count each of them alone",
                    hint="publish something that people share",
                )
            if column in outline.facts and column not in self.wish.found:
                fits(column, outline.facts[column])
        return publication(outline, self.wish)


@dataclass(frozen=True)
class PaidRelease:
    """A release that was paid for: the entry that holds its digest, and what the ledger says about it."""

    entry: int
    name: str
    digest: str
    time: str
    principal: str
    population: str
    loss: BudgetLoss
    sql: str
    tables: tuple[str, ...]
    wish: Wish


def called(order: ReleaseOrder, listed: PaidRelease) -> str:
    """What is to be said where a release has another name than it was ordered under; nothing where none was given."""
    if order.name in (listed.name, _usual(order.wish)):
        return ""
    return f"this was published before, and a release keeps its first name: it is called {shown(listed.name)}"


def _selected(table: str, wish: Wish) -> str:
    names = ", ".join(quoted(column) for column in wish.columns)
    return f"SELECT {names} FROM {quoted(table)}"  # noqa: S608  # planned as any


def _usual(wish: Wish) -> str:
    return f"{wish.kind} of {', '.join(wish.columns)}"


class Publisher:
    """Publishes once, and hands out again."""

    def __init__(self, home: Path, notary: Notary) -> None:
        self._folder, self._notary = home / "releases", notary

    def offered(self, curator: Curator, order: ReleaseOrder) -> Offer[Release]:
        """What a release would be, and what it costs. Free."""
        return curator.offered(order.spelled(curator).wanted)

    def published(self, curator: Curator, order: ReleaseOrder, heard: Heard | None = None) -> int:
        """Pay for a release, unless it was paid for before: the entry that holds its digest. `heard`: how far it is."""
        order = order.spelled(curator)

        def keep(release: Release, spend: Spend) -> Plain:
            text = release.to_json().encode()
            self._kept(text)
            return kept(digest(text), order.name, spend)

        return curator.bought(order.wanted, Telling(keep, heard))[1]

    def _kept(self, content: bytes) -> None:
        """Durably, under its digest: the ledger is told of it only afterwards."""
        durable.make_folder(self._folder)
        durable.replace(self._path(digest(content)), content)

    def _path(self, known: str) -> Path:
        return self._folder / f"{known}.json"

    def listed(self, reader: Grant | None) -> list[PaidRelease]:
        """Those that a reader may have, the latest first: of tables that they may ask about, as with every answer."""
        return [_listed(entry, paid) for paid, entry in self._notary.releases(reader)]

    def one(self, reader: Grant | None, entry: int) -> PaidRelease:
        """One of them."""
        known = self._notary.release(reader, entry)
        if known is not None:
            return _listed(known[1], known[0])
        raise Refusal(f"there is no release {entry}, or none of yours to read", hint="list them: discreet release list")

    def release(self, known: PaidRelease) -> Release:
        """The release itself, if its file is what the ledger knows."""
        try:
            content = self._path(known.digest).read_bytes()
        except OSError:
            raise Refusal(f"the file of release {known.entry} is missing", hint="restore the home") from None
        if digest(content) != known.digest:
            raise Refusal(f"the file of release {known.entry} is not what the ledger knows", hint="restore the home")
        return Release.from_json(content.decode())

    def folder(self, known: PaidRelease, folder: Path) -> Certificate:
        """Write a release with its certificate, for everybody to read and check: the same bytes whoever asks."""
        refuse_taken(folder)
        return copy(self._certified(known), folder)

    def file(self, known: PaidRelease, name: str) -> bytes:
        """One file of that folder."""
        return file(self._certified(known), name)

    def _certified(self, known: PaidRelease) -> Path:
        """Where a release is kept with its certificate, which is made once."""
        made = self._folder / str(known.entry)
        if not made.is_dir():
            release, answer = self.release(known), self._notary.receipt(known.entry)
            try:
                write(made, release, answer)
            except Refusal:
                if not made.is_dir():  # else somebody else was first
                    raise
        return made


def tried(curator: Curator, order: ReleaseOrder) -> Release:
    """A release of the rows of a home in which everything was made up."""
    order = order.spelled(curator)
    return curator.run(order.chosen(curator.offered(order.wanted).run.outline), order.sql)


def _listed(entry: Entry, spend: Spend) -> PaidRelease:
    known, name = held(entry.event.answer if isinstance(entry.event, StoredAnswer) else None)
    what: Any = spend.what
    wish = Wish.recalled(what["mechanism"]["release"])
    paid = spend.principal, spend.population, spend.loss, str(what["sql"]), tuple(spend.tables)
    return PaidRelease(entry.number, name, known, entry.time, *paid, wish)


KNOWN_LATER = "known after paying"


@dataclass(frozen=True)
class Offered:
    """What a release would be. Nothing of it depends on a row.

    What `preview` is about is within `error` with probability 0.95, before what bounds and caps cut off. An error of
    None is known after paying.
    """

    population: str
    price: BudgetLoss
    left: BudgetLoss
    error: Fraction | None
    entry: int | None  # that holds it, if it was paid for before: then it is free
    preview: Preview

    def __str__(self) -> str:
        free = "" if self.entry is None else f", and free now: entry {self.entry} holds it"
        tables = ", ".join(" by ".join(names) for names in self.preview.tables)
        return "\n".join(
            (
                f"price {said(self.price)}{free}",
                f"left {said(self.left)} of {self.population}",
                f"{self.preview.unit} {self.preview.cells} of {tables}",
                f"error {self.preview.about}: {self.exactness}",
                *self.preview.lines,
            )
        )

    @property
    def exactness(self) -> str:
        """How exact what it is about will be, in words."""
        return KNOWN_LATER if self.error is None else f"within {roughly(self.error)} at {float(USUAL):g}"

    @property
    def facts(self) -> Mapping[str, Plain]:
        """Its size and what its kind says of itself, as JSON can hold it."""
        tables: list[Plain] = [list(names) for names in self.preview.tables]
        return {"cells": self.preview.cells, **self.preview.facts, "tables": tables}


def offered(offer: Offer[Release], left: BudgetLoss) -> Offered:
    """The public side of an offer, and what is left of the budget that would pay."""
    mechanism, population = mechanism_of(offer), offer.run.outline.population.name
    bound = mechanism.error()
    error = None if bound is None else Fraction(bound)
    return Offered(population, offer.run.loss, left, error, offer.entry, mechanism.preview)


def mechanism_of(offer: Offer[Release]) -> ReleaseMechanism:
    """The mechanism of an offer that a publisher made: those of releases are all it takes."""
    return cast("ReleaseMechanism", offer.run.mechanism)


def roughly(error: Fraction) -> str:
    """An error in three digits, rounded up."""
    if error >= 100:
        return str(math.ceil(error))
    scale = 10 ** (3 - len(str(math.ceil(error)))) if error >= 1 else 1000
    return f"{math.ceil(error * scale) / scale:g}"
