"""The fold of the entries: what each population has left, who may ask, which payments wait."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

from discreet.errors import Ground, OverBudget, Refusal
from discreet.ledger.entry_kinds import (
    REMOVED,
    Adopted,
    BudgetLoss,
    Dataset,
    Entry,
    Grant,
    Hold,
    Opened,
    Retired,
    Revoked,
    Spend,
    StoredAnswer,
    session_population,
)
from discreet.privacy import Budget, Guarantee, Neighbours

_LONGEST = 200  # bits of a price's denominator: sums are exact, and would soon take longer than anyone waits
OWNER = "custodian"  # who works in the home itself
MAINTENANCE = "this population is closed for maintenance; try again later"


def _measure(loss: object) -> str:
    """What a loss is counted in."""
    if not isinstance(loss, BudgetLoss):  # whatever the type checker was told
        return type(loss).__name__
    return " and ".join(part.name for part in fields(loss))


@dataclass(frozen=True)
class Account:
    """What is known of one population."""

    budget: Budget[BudgetLoss]
    retired: bool = False
    held: bool = False

    @property
    def neighbours(self) -> Neighbours:
        """The relation of everything charged here."""
        return self.budget.neighbours


def _charged(account: Account, spend: Spend) -> Budget[BudgetLoss]:
    """The budget after a payment. What buys a session opens it, and beside that not every charge is proven."""
    loss, session = Guarantee(spend.loss, account.neighbours), session_population(spend.question)
    if session is None:
        return account.budget.spend(loss)
    if session != spend.population:
        raise Refusal(
            f"a session is paid from the budget that its question names, {session!r}, got {spend.population!r}"
        )
    return account.budget.open(loss)


@dataclass
class Books:
    """The state after some entries. Applying the same entries in the same order gives the same books."""

    size: int = 0
    accounts: dict[str, Account] = field(default_factory=dict)
    grants: dict[str, Grant] = field(default_factory=dict)
    used: dict[tuple[str, str], BudgetLoss] = field(default_factory=dict)  # (principal, population) -> spent
    datasets: dict[str, Dataset] = field(default_factory=dict)
    owners: dict[str, Dataset] = field(default_factory=dict)  # population -> the first table it ever had
    unanswered: dict[int, str] = field(default_factory=dict)  # payments that wait, by entry -> their questions
    removed: dict[str, int] = field(default_factory=dict)  # tables that ever were -> the version of the last time
    adopted: int = 0  # the entry by which a copy of the home was last made the one that answers

    def copy(self) -> Books:
        """Books that can be tried out. Entries are frozen, so copying the tables that hold them is enough."""
        return Books(
            self.size,
            dict(self.accounts),
            dict(self.grants),
            dict(self.used),
            dict(self.datasets),
            dict(self.owners),
            dict(self.unanswered),
            dict(self.removed),
            self.adopted,
        )

    def apply(self, entry: Entry) -> None:
        """Take one more entry into the books; refuses what the rules would not have let in."""
        event = entry.event
        self.check(event)
        match event:
            case Opened():
                self.accounts[event.population] = Account(Budget.of(event.total, event.neighbours))
            case Spend():
                self._spend(event)
                self.unanswered[entry.number] = event.question
            case StoredAnswer():
                del self.unanswered[event.spend]
                self._close(session_population(event.question))
            case Grant():
                self.grants[event.principal] = event
            case Revoked():
                del self.grants[event.principal]
            case Retired():
                self.accounts[event.population] = replace(self.accounts[event.population], retired=True)
            case Hold():
                self.accounts[event.population] = replace(self.accounts[event.population], held=event.held)
            case Dataset():
                self._take(event)
            case Adopted():
                self.adopted = entry.number
        self.size = entry.number

    def check(self, event: object) -> None:
        """Refuse an event that does not fit the books. Depends on public facts only."""
        match event:
            case Opened() if event.population in self.accounts:
                raise Refusal(
                    f"population {event.population!r} has its budget already",
                    hint="a budget is set once and never refilled",
                )
            case Spend():
                self._check_spend(event)
            case StoredAnswer():
                if self.unanswered.get(event.spend) != event.question:
                    raise Refusal(f"entry {event.spend} is not a payment that waits for its answer")
            case Dataset():
                self._check_dataset(event)
            case Revoked() if event.principal not in self.grants:
                raise Refusal(f"there is no user {event.principal!r}", hint="see discreet user list")
            case Retired() | Hold() if event.population not in self.accounts:
                raise Refusal(f"there is no population {event.population!r}", hint="see discreet budget")
            case _:
                pass

    def _check_dataset(self, new: Dataset) -> None:
        old = self.datasets.get(new.table)
        current = None if old is None or old.declaration == REMOVED else old
        if current is not None and (new.population, new.unit) != (current.population, current.unit):
            raise Refusal(f"table {new.table!r} cannot change whose rows it holds", hint="remove it and add it anew")
        redeclared = current is not None and (new.version, new.file) == (current.version, current.file)
        if new.version <= (0 if old is None else old.version) and (not redeclared or new.declaration == REMOVED):
            raise Refusal(  # answers are kept under a version, so none may come twice
                f"version {new.version} of table {new.table!r} does not come after all before it",
                hint="the ledger and discreet.toml are not of one time: put the newer one back",
            )
        if new.population is not None and current is None and new.declaration != REMOVED:
            self.account(new.population)
            first = self.owners.get(new.population)
            if first is not None and (first.unit is None or new.unit is None):
                raise Refusal(
                    f"rows that are their own unit never share a budget, and {new.population!r} has one",
                    hint="use another --population",
                )

    def _take(self, new: Dataset) -> None:
        self.datasets[new.table] = new
        if new.population is not None:
            self.owners.setdefault(new.population, new)
        if new.declaration == REMOVED:  # a grant was for these rows, not for others that may get their name
            self.removed[new.table] = new.version
            for grant in [grant for grant in self.grants.values() if new.table in (grant.tables or ())]:
                rest = [table for table in grant.tables or () if table != new.table]
                self.grants[grant.principal] = replace(grant, tables=rest)

    def _check_spend(self, spend: Spend) -> None:
        account, grant = self.answering(spend.population), self.grant(spend.principal)
        self.check_tables(spend)
        total, allowed = account.budget.total, None if grant is None else grant.allowance
        if type(spend.loss) is not type(total):
            raise Refusal(
                f"the budget of {spend.population!r} is kept in {_measure(total)}, got a price in "
                f"{_measure(spend.loss)}",
                hint="name the price in the budget's own measure",
                ground=Ground.VALUE,
            )
        if allowed is not None and type(allowed) is not type(total):
            raise Refusal(
                f"your allowance is kept in {_measure(allowed)}, the budget of {spend.population!r} in "
                f"{_measure(total)}",
                hint="a custodian can give you another",
            )
        if any(getattr(spend.loss, part.name).denominator.bit_length() > _LONGEST for part in fields(spend.loss)):
            raise Refusal(
                "this price takes too many digits to be added up exactly",
                hint="write the price with at most 30 digits",
            )
        _charged(account, spend)
        if allowed is not None:
            own = Budget(allowed, self.spent_by(spend.principal, spend.population), account.neighbours)
            try:
                own.spend(Guarantee(spend.loss, account.neighbours))
            except OverBudget as over:
                raise OverBudget(f"{over.message} of your allowance", hint=over.hint) from None

    def check_tables(self, spend: Spend) -> None:
        """Refuse unless who paid may ask about the tables, and these hold the rows for which it was paid."""
        grant = self.grant(spend.principal)
        for table in spend.tables:
            if grant is not None and grant.tables is not None and table not in grant.tables:
                there = sorted(grant.tables)  # and not that there is such a table which others may ask about
                raise Refusal(f"there is no table {table!r}", hint=f"there are {there}", ground=Ground.TABLE)
        for table, version in sorted(spend.versions.items()):
            known = self.datasets.get(table)
            if known is None or known.declaration == REMOVED:
                raise Refusal(f"there is no table {table!r} any more", ground=Ground.TABLE)
            if known.version != version:
                raise Refusal(
                    f"table {table!r} has other rows than discreet.toml says; nothing was charged",
                    hint="they are being replaced: ask again; if it stays so, bring them with discreet update",
                )

    def _spend(self, spend: Spend) -> None:
        account = self.accounts[spend.population]
        self.accounts[spend.population] = replace(account, budget=_charged(account, spend))
        key = spend.principal, spend.population
        self.used[key] = self.spent_by(*key) + spend.loss  # type: ignore[operator]

    def _close(self, population: str | None) -> None:
        """A session answers no more."""
        if population is not None:
            account = self.accounts[population]
            self.accounts[population] = replace(account, budget=account.budget.close())

    def grant(self, principal: str) -> Grant | None:
        """What a person may do; None for the custodian, who owns the home. Nobody else asks without a grant."""
        if principal != OWNER and principal not in self.grants:
            raise Refusal(f"there is no user {principal!r}", hint="a custodian lets people in with discreet user add")
        return self.grants.get(principal)

    def may_read(self, reader: Grant | None, paid: Spend) -> bool:
        """Whether somebody may ask about all tables that a payment was for; None is the home itself.

        Not about tables of before, which had these names and were removed: nobody was granted those with these.
        """
        if reader is None or reader.tables is None:
            return True
        read = paid.versions or dict.fromkeys(paid.tables, 0)  # an entry from before versions were written
        before = [table for table, version in read.items() if version <= self.removed.get(table, -1)]  # type: ignore[operator]
        return not before and set(paid.tables) <= set(reader.tables)

    def answering(self, population: str) -> Account:
        """The account of a population about which may be asked."""
        account = self.account(population)
        if account.retired:
            raise OverBudget(f"population {population!r} is retired", hint="its budget is closed for good")
        if account.held:
            raise Refusal(MAINTENANCE)
        return account

    def account(self, population: str) -> Account:
        """The account of a population."""
        if population not in self.accounts:
            raise Refusal(f"there is no population {population!r}", hint="see discreet budget")
        return self.accounts[population]

    def spent_by(self, principal: str, population: str) -> BudgetLoss:
        """What one person has spent of a population's budget."""
        nothing: BudgetLoss = 0 * self.account(population).budget.total
        return self.used.get((principal, population), nothing)
