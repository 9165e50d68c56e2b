"""What is declared, in words: of a column, a table, a population."""

from __future__ import annotations

from discreet.console.table_draft import KINDS
from discreet.exact import spoken
from discreet.ledger.books import Account
from discreet.privacy import Replace
from discreet.sql.dates import ends
from discreet.sql.schema import Column, Table

_MOST = 6  # keys that are named


def kind(column: Column) -> str:
    """The type of a column."""
    return KINDS[column.type.value]


def limits(column: Column) -> str:
    """Bounds and keys of a column."""
    said = []
    if column.bounds is not None:
        low, high = map(spoken, column.bounds) if column.type.numeric else ends(column) or ("", "")
        said.append(f"{low} to {high}")
        if column.step is not None and column.step != 1:
            said.append(f"in steps of {spoken(column.step)}")
    if column.keys is not None:
        more = f" and {len(column.keys) - _MOST} more" if len(column.keys) > _MOST else ""
        said.append(", ".join(str(key) for key in column.keys[:_MOST]) + more)
    return "; ".join(said)


def owner(table: Table) -> str:
    """Whose rows a table holds."""
    if table.public:
        return "nobody's: public"
    if table.link is not None:
        own, other, key = table.link
        return f"found through {own} in {other}.{key}"
    return "every row somebody of its own" if table.unit is None else f"named in {table.unit}"


def caps(table: Table) -> str:
    """How much one person can be in an answer."""
    if table.public or table.unit is None:
        return ""
    rows = "no limit said: only people are counted" if table.max_rows is None else f"up to {table.max_rows} rows"
    groups = "1 group" if table.max_groups == 1 else f"{table.max_groups} groups"
    return f"{rows}; up to {groups}"


def state(account: Account) -> tuple[str, str]:
    """Whether a population can be asked about, and the class of its badge."""
    if account.retired:
        return "Closed for good", "d-off"
    return ("On hold", "d-stop") if account.held else ("Open", "")


def relation(account: Account) -> str:
    """What is compared."""
    if isinstance(account.neighbours, Replace):
        return "one person exchanged for another; how many there are is public"
    return "one person more or less"
