"""Desk of a home: its curator, asked in the name of whoever was let in."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.curator import Answer, Curator, Due, Explanation
from discreet.curator.custody import Custody, Scram, matches, scram_of
from discreet.curator.named_run import NamedRun, RunAnswer, RunQuote, answered_run, quoted_run, remembered_run
from discreet.curator.paid_visitors import PaidVisitors
from discreet.curator.purchase import PastPayment
from discreet.curator.quote import Terms as Asked
from discreet.curator.quote import given
from discreet.curator.run import Offer
from discreet.curator.sessions import Sessions
from discreet.curator.stage_file import Heard
from discreet.curator.streams import Streams
from discreet.declared.table import Table
from discreet.desk.ledger_proofs import Lately, Notary
from discreet.desk.practice_home import Practice
from discreet.desk.release_store import PaidRelease, Publisher, ReleaseOrder, tried
from discreet.errors import Refusal
from discreet.exact import shown
from discreet.ledger import Grant, Head
from discreet.ledger.balances import OWNER, Account, Books
from discreet.ledger.entry_kinds import BudgetLoss, canonical
from discreet.ledger.home_ledger import Standing, standings
from discreet.ledger.verify import Extension
from discreet.ledger.verify import Receipt as Proof
from discreet.ledger.witness import Bringer, keep, kept
from discreet.privacy import Budget
from discreet.release import Release
from discreet.release.certificate import Certificate
from discreet.sandbox import DIRECT, Sandbox

Terms = Mapping[str, object]  # as Curator.query takes them


@dataclass(frozen=True)
class Visitor:
    """Somebody who was let in, and by which grant: what a later grant of the same name allows is not for them."""

    name: str
    role: str
    grant: str = ""  # a digest of what is kept of the token; the home itself has none


HOME = Visitor(OWNER, "custodian")  # who works in the home itself: no token is theirs, so no door lets them in


def _visitor(grant: Grant) -> Visitor:
    return Visitor(grant.principal, grant.role, _identity(grant))


def _identity(grant: Grant) -> str:
    """What tells a grant from all others of its name: every token is new."""
    return hashlib.sha256(canonical(grant.verifier)).hexdigest()


@dataclass(frozen=True)
class Person:
    """Somebody who may ask, or who did; None stands for every table, and for no allowance of one's own."""

    name: str
    role: str  # nothing: not let in any more
    tables: tuple[str, ...] | None
    allowance: BudgetLoss | None
    used: Mapping[str, BudgetLoss]  # of each population's budget
    require_price: bool = False  # whether each of their questions must name a price


def _person(name: str, books: Books) -> Person:
    grant = books.grants.get(name)
    used = {population: loss for (who, population), loss in books.used.items() if who == name}
    if grant is None:
        return Person(name, "custodian" if name == OWNER else "", None, None, used)
    tables = None if grant.tables is None else tuple(grant.tables)
    return Person(name, grant.role, tables, grant.allowance, used, grant.require_price)


class Desk:
    """Serves visitors. Every method may be called from any thread."""

    def __init__(self, home: Path, sandbox: Sandbox = DIRECT, *, curator: Curator | None = None) -> None:
        """In the sandbox, what strangers write is computed; without one, in this process."""
        self.home, self.sandbox = home, sandbox
        self._curator = curator or Curator(home, sandbox=sandbox)
        self._notary = Notary(home, self._curator.ledger)
        self._practice = Practice(sandbox)
        self._publisher = Publisher(home, self._notary)
        self._witnesses = Lately(lambda: standings(home))

    # who -------------------------------------------------------------------------------------------------------------

    def scram(self, name: str) -> Scram | None:
        """What is kept of a person's token, to check a password against; None for nobody."""
        grant = self._grant(name)
        return None if grant is None else scram_of(grant.verifier)

    def pepper(self) -> bytes:
        """A secret of the home, from which a door makes up a verifier for nobody."""
        return self._notary.pepper()

    def visitor(self, name: str) -> Visitor:
        """A person whose password was checked."""
        grant = self._grant(name)
        if grant is None:
            raise Refusal(
                f"nobody called {shown(name)} is let in", hint="a custodian lets people in with discreet user add"
            )
        return _visitor(grant)

    def bearer(self, token: str) -> Visitor | None:
        """Whose token this is; None if nobody's. Looks at every grant, whoever's it is."""
        theirs = [grant for grant in self._curator.grants() if matches(token, grant.verifier)]
        return _visitor(theirs[0]) if theirs else None

    def stands(self, visitor: Visitor) -> bool:
        """Whether a visitor's grant is known to be in force, at once. If not, their token has to be looked at."""
        grant = self._curator.at_hand.grant(visitor.name)
        return grant is not None and hmac.compare_digest(_identity(grant), visitor.grant)

    def _grant(self, name: str) -> Grant | None:
        theirs = [g for g in self._curator.grants() if hmac.compare_digest(g.principal.encode(), name.encode())]
        return theirs[0] if theirs else None

    def _in_force(self, visitor: Visitor) -> Grant | None:
        """The grant by which a visitor came in, as it is now; None for the home itself."""
        grant = self._grant(visitor.name)
        if grant is None and visitor == HOME:
            return None
        if grant is None or not hmac.compare_digest(_identity(grant), visitor.grant):
            raise Refusal("your token does not let you in any more", hint="a custodian can give you another")
        return grant

    def _granted(self, visitor: Visitor) -> list[str] | None:
        """The tables that a visitor may ask about; None stands for all."""
        grant = self._in_force(visitor)
        return None if grant is None else grant.tables

    def _curator_of(self, visitor: Visitor) -> Curator:
        self._in_force(visitor)
        return self._curator.sibling(visitor.name)

    # what ------------------------------------------------------------------------------------------------------------

    def asked(self, visitor: Visitor, sql: str, terms: Terms) -> Answer:
        """The answer to a question, at its price."""
        return self._curator_of(visitor).query(sql, **given(terms))

    def at_hand(self, visitor: Visitor, sql: str, terms: Terms) -> Answer | None:
        """The same, if it is free and remembered and nothing has to be waited for: also an event loop may ask so."""
        if not self.stands(visitor):
            return None
        return self._curator.at_hand.answer(visitor.name, sql, Asked.of(terms))

    def shown(self, visitor: Visitor, sql: str, terms: Terms) -> Answer:
        """What was answered to a question before, as long as it stands. Never at a price."""
        return self.asked(visitor, sql, {**terms, "free": True})

    def tried(self, visitor: Visitor, sql: str, terms: Terms) -> Answer:
        """The answer to a question on rows that were made up from what is declared. Free."""
        curator = self._curator_of(visitor)
        curator.explain(sql, **given(terms))  # what would be refused is refused here as well, also for who asks
        return self._practice.asked(self._curator, sql, terms, self._granted(visitor))

    def described(self, visitor: Visitor, sql: str, terms: Terms) -> tuple[tuple[str, str], ...]:
        """The columns of an answer and their types, from the plan. Free."""
        return self._curator_of(visitor).describe(sql, **given(terms))

    def explained(self, visitor: Visitor, sql: str, terms: Terms) -> Explanation:
        """Price and error of a question. Free."""
        return self._curator_of(visitor).explain(sql, **given(terms))

    def due(self, visitor: Visitor, sql: str, terms: Terms) -> Due:
        """What would be charged for a question now, and whose budget: nothing for what was bought before. Free."""
        return self._curator_of(visitor).due(sql, **given(terms))

    def tables(self, visitor: Visitor) -> list[Table]:
        """What a visitor may ask about, as it was declared."""
        return self._curator_of(visitor).tables()

    def budgets(self, visitor: Visitor) -> dict[str, Budget[BudgetLoss]]:
        """The budget of each population, as the visitor sees it."""
        return {name: account.budget for name, account in self.accounts(visitor).items()}

    def accounts(self, visitor: Visitor) -> dict[str, Account]:
        """The same, and whether it is held or retired: of the tables that they may ask about, or paid for."""
        granted, books = self._granted(visitor), self._curator.ledger.books()
        accounts = dict(sorted(dict(books.accounts).items()))
        if granted is None:
            return accounts
        own = {table.population for table in self.tables(visitor)}
        own |= {population for who, population in dict(books.used) if who == visitor.name}
        return {name: account for name, account in accounts.items() if name in own}

    def history(
        self, visitor: Visitor, *, own: bool = False, before: int | None = None, most: int | None = None
    ) -> list[PastPayment]:
        """What a visitor asked and paid; a custodian sees everybody's, unless only their `own` are wanted."""
        grant = self._in_force(visitor)
        everybody = not own and (grant is None or grant.role == "custodian")
        return self._curator.sibling(visitor.name).history(everybody=everybody, before=before, most=most)

    def run(self, visitor: Visitor, order: NamedRun) -> RunAnswer:
        """What a mechanism says that is run by its name, at its price, unless it ran before."""
        return answered_run(self._curator_of(visitor), order)

    def run_shown(self, visitor: Visitor, order: NamedRun) -> RunAnswer:
        """What a mechanism said that ran before. Never at a price."""
        return remembered_run(self._curator_of(visitor), order)

    def run_quoted(self, visitor: Visitor, order: NamedRun) -> RunQuote:
        """What that would cost, and how far off it may be. Free."""
        offer = self._curator_of(visitor).offered(order.wanted)
        return quoted_run(offer, self.budgets(visitor)[offer.run.outline.population.name].left)

    def sessions(self, visitor: Visitor) -> Sessions:
        """The sessions of interactive mechanisms, opened, asked and looked at in a visitor's name."""
        return self._curator_of(visitor).paid_sessions()

    def streams(self, visitor: Visitor) -> Streams:
        """The running counts that were opened, pushed and looked at in a visitor's name."""
        beside = self.sessions(visitor)
        return Streams(beside.ledger, beside.store, beside.principal)

    def visitors(self, visitor: Visitor) -> PaidVisitors:
        """The memories of who came, opened, pushed and looked at in a visitor's name."""
        beside = self.sessions(visitor)
        return PaidVisitors(beside.ledger, beside.store, beside.principal)

    # what is published ----------------------------------------------------------------------------------------------

    def offered(self, visitor: Visitor, order: ReleaseOrder) -> Offer[Release]:
        """What a release would be, what it would cost, and whether it was paid for before. Free."""
        return self._publisher.offered(self._curator_of(visitor), order)

    def rehearsed(self, visitor: Visitor, order: ReleaseOrder) -> Release:
        """The same release of rows that were made up from what is declared. Free."""
        self.offered(visitor, order)  # what would be refused is refused here as well, also for who asks
        granted = self._granted(visitor)
        return self._practice.done(self._curator, lambda curator: tried(curator.within(granted), order))

    def published(self, visitor: Visitor, order: ReleaseOrder, heard: Heard | None = None) -> PaidRelease:
        """Make a release, at its price, unless it was made before. `heard` is told how far it is."""
        entry = self._publisher.published(self._curator_of(visitor), order, heard)
        return self._publisher.one(self._in_force(visitor), entry)

    def releases(self, visitor: Visitor) -> list[PaidRelease]:
        """The releases that a visitor may read, the latest first."""
        return self._publisher.listed(self._in_force(visitor))

    def release(self, visitor: Visitor, entry: int) -> Release:
        """One of them, free: everything that follows from it is too."""
        return self._publisher.release(self._publisher.one(self._in_force(visitor), entry))

    def certified(self, visitor: Visitor, entry: int, folder: Path) -> Certificate:
        """Write one of them into a folder, with what anybody needs to check it."""
        return self._publisher.folder(self._publisher.one(self._in_force(visitor), entry), folder)

    def file(self, visitor: Visitor, entry: int, name: str) -> bytes:
        """One file of that folder."""
        return self._publisher.file(self._publisher.one(self._in_force(visitor), entry), name)

    # for custodians --------------------------------------------------------------------------------------------------

    def custody(self, visitor: Visitor) -> Custody:
        """The custodian's side of the home, for a custodian."""
        grant = self._in_force(visitor)
        if grant is not None and grant.role != "custodian":
            raise Refusal(
                f"this is for custodians, and you are let in as {grant.role}", hint="a custodian can let you in as one"
            )
        return Custody(self.home)

    def people(self, visitor: Visitor) -> list[Person]:
        """Who is let in, and what of each population's budget each has used; analysts see themselves alone."""
        grant, books = self._in_force(visitor), self._curator.ledger.books().copy()  # others may pay while it is read
        names = {*books.grants, *(name for name, _ in books.used)}
        if grant is not None and grant.role != "custodian":
            names = {visitor.name}
        return [_person(name, books) for name in sorted(names)]

    # to be kept ------------------------------------------------------------------------------------------------------

    def head(self, visitor: Visitor) -> Head:
        """A signed head of the ledger."""
        self._in_force(visitor)
        return self._notary.head()

    def extension(self, visitor: Visitor, kept: Head) -> Extension:
        """The proof that the ledger goes on from a head that the visitor kept. Refused if it does not."""
        self._in_force(visitor)
        return self._notary.extension(kept)

    def verified(self, visitor: Visitor, kept: Head) -> Extension:
        """The same, after all of the ledger was read and computed again: it takes the longer, the longer that is."""
        self._in_force(visitor)
        return self._notary.verified(kept)

    def witnesses(self, visitor: Visitor) -> list[Standing]:
        """Where heads of the ledger are kept outside the home, and whether it goes on from them.

        They are asked now and then: what they said is repeated for a few seconds. Names of folders and machines are
        for custodians.
        """
        grant, standings = self._in_force(visitor), self._witnesses.said()
        if grant is None or grant.role == "custodian":
            return list(standings)
        return [
            replace(each, where=f"witness {number}", trouble="a custodian is needed" if each.trouble else "")
            for number, each in enumerate(standings, start=1)
        ]

    def kept(self, visitor: Visitor, key: str) -> Head | None:
        """The newest head that is kept here of another ledger, by its key; None if none is."""
        self._in_force(visitor)
        return kept(self.home, key)

    def keep(self, visitor: Visitor, head: Head, size: int, siblings: Sequence[str]) -> Head | None:
        """Keep a head that goes on from the one of so many entries that is kept; what is kept then."""
        grant = self._in_force(visitor)
        by = Bringer(visitor.name, custodian=grant is None or grant.role == "custodian")
        return keep(self.home, head, size, siblings, by)

    def proof(self, visitor: Visitor, entry: int) -> Proof | None:
        """An entry word for word and that it is in the ledger; None if it is not the visitor's to read."""
        return self._notary.proof(self._in_force(visitor), entry)
