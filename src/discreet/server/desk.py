"""What both doors lead to: one curator, asked in the name of whoever was let in."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from discreet.curator import Answer, Curator, Explanation
from discreet.curator.history import Receipt
from discreet.curator.token import Scram, matches, scram_of
from discreet.errors import Refusal
from discreet.ledger import Grant, Head
from discreet.ledger.entry import BudgetLoss
from discreet.ledger.verify import Receipt as Proof
from discreet.privacy import Budget
from discreet.server.notary import Notary
from discreet.sql.schema import Table

Terms = Mapping[str, object]  # as Curator.query takes them


@dataclass(frozen=True)
class Visitor:
    """Somebody who was let in."""

    name: str
    role: str


class Desk:
    """Serves visitors. Every method may be called from any thread; none keeps state between two calls."""

    def __init__(self, home: Path) -> None:
        self._curator = Curator(home)
        self._notary = Notary(home)

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
            raise Refusal("nobody of this name is let in", hint="a custodian lets people in with discreet user add")
        return Visitor(grant.principal, grant.role)

    def bearer(self, token: str) -> Visitor | None:
        """Whose token this is; None if nobody's. Looks at every grant, whoever's it is."""
        found = [grant for grant in self._curator.grants() if matches(token, grant.verifier)]
        return Visitor(found[0].principal, found[0].role) if found else None

    def _grant(self, name: str) -> Grant | None:
        found = [g for g in self._curator.grants() if hmac.compare_digest(g.principal.encode(), name.encode())]
        return found[0] if found else None

    # what ------------------------------------------------------------------------------------------------------------

    def asked(self, visitor: Visitor, sql: str, terms: Terms) -> Answer:
        """The answer to a question, at its price."""
        return self._curator.sibling(visitor.name).query(sql, **terms)

    def described(self, visitor: Visitor, sql: str, terms: Terms) -> tuple[tuple[str, str], ...]:
        """The columns of an answer and their types, from the plan. Free."""
        return self._curator.sibling(visitor.name).describe(sql, **terms)

    def explained(self, visitor: Visitor, sql: str, terms: Terms) -> Explanation:
        """Price and error of a question. Free."""
        return self._curator.sibling(visitor.name).explain(sql, **terms)

    def tables(self, visitor: Visitor) -> list[Table]:
        """What a visitor may ask about, as it was declared."""
        return self._curator.sibling(visitor.name).tables()

    def budgets(self, visitor: Visitor) -> dict[str, Budget[BudgetLoss]]:
        """The budget of each population, as the visitor sees it."""
        curator = self._curator.sibling(visitor.name)
        return {name: curator.budget(name) for name in curator.populations()}

    def history(self, visitor: Visitor) -> list[Receipt]:
        """What a visitor asked and paid; a custodian sees everybody's."""
        return self._curator.sibling(visitor.name).history(everybody=visitor.role == "custodian")

    # to be kept ------------------------------------------------------------------------------------------------------

    def head(self, visitor: Visitor) -> Head:
        """A signed head of the ledger."""
        self.visitor(visitor.name)
        return self._notary.head()

    def proof(self, visitor: Visitor, entry: int) -> Proof | None:
        """An entry word for word and that it is in the ledger; None if it is not the visitor's to read."""
        grant = self._grant(visitor.name)
        return None if grant is None else self._notary.proof(grant, entry)
