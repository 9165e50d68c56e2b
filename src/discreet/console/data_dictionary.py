"""Data dictionary: what is declared about tables, columns and populations, in words and as lists."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from nicegui import ui

from discreet.console import theme
from discreet.console.sql_editor import written
from discreet.console.table_draft import KINDS
from discreet.declared.column import Column, ends
from discreet.declared.group_key import Key
from discreet.declared.table import Table
from discreet.exact import spoken
from discreet.ledger.balances import Account
from discreet.privacy import Replace

_KEYS = 6  # that are shown of a column
MOST = 200  # columns of a table that a page shows
_NAMED = 6  # keys that are named


def shelf(tables: Sequence[Table]) -> None:
    """A list of tables; a click on a name puts it into the editor."""
    with ui.element("aside").classes("d-shelf d-card").props('aria-label="Tables"') as made:
        opener = ui.button("Tables and columns", icon="table_chart", color=None).props(
            'flat no-caps aria-expanded="false" icon-right=expand_more'
        )
        opener.classes("d-opener")
        theme.heading("Tables", 2).classes("d-shelf-title")
        with ui.element("div").classes("d-shelf-body"):
            if not tables:
                theme.muted("There is no table that you may ask about yet.")
            for table in tables:
                _table(table)

    def turn() -> None:
        is_open = "d-open" in made.classes
        made.classes(toggle="d-open")
        opener.props(f'aria-expanded="{"false" if is_open else "true"}"')

    opener.on_click(turn)


def about(table: Table) -> str:
    """Whose rows a table holds, in words."""
    if table.public:
        return "Public: costs nothing."
    if table.link is not None:
        whose = f"Each row belongs to someone in {table.link[1]}."
    else:
        whose = "Each row is somebody of its own." if table.unit is None else f"One person is one {table.unit}."
    rows = "" if table.max_rows is None else f" At most {_many(table.max_rows, 'row')} of each count"
    return f"{whose}{rows}, in {_many(table.max_groups, 'group')}." if rows else whose


def facts(column: Column, table: Table) -> tuple[str, ...]:
    """What is declared about a column."""
    words = [column.type.value]
    if column.name == table.unit:
        words.append("names the person")
    if column.bounds is not None:
        low, high = map(_short, column.bounds) if column.type.numeric else ends(column) or ("", "")
        words.append(f"{low} to {high}")
    if column.keys is not None:
        shown = ", ".join(map(_key, column.keys[:_KEYS]))
        words.append(f"{shown}, … {len(column.keys)} in all" if len(column.keys) > _KEYS else shown)
    return tuple(words)


def _table(table: Table) -> None:
    with ui.element("section").classes("d-table"):
        with ui.element("div").classes("d-table-head"):
            _name(table.name, "d-name d-name-table")
            if table.public:
                theme.tag("span", "public").classes("d-chip")
        theme.note(about(table))
        with ui.element("ul").classes("d-columns"):
            for column in table.columns[:MOST]:
                with ui.element("li"):
                    _name(column.name, "d-name")
                    theme.tag("span", " · ".join(facts(column, table))).classes("d-muted d-small d-kinds")
                    if column.description:
                        theme.tag("span", column.description).classes("d-small d-described")
        further(table.columns)


def _name(name: str, classes: str) -> None:
    made = theme.tag("button", name).classes(classes)
    made.props["type"] = "button"
    made.props["data-insert"] = written(name)
    made.props["title"] = f"Put {name} into your question"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _short(value: Fraction) -> str:
    return spoken(value, 6).removeprefix("≈")


def _key(key: Key) -> str:
    return "no value" if key is None else "true" if key is True else "false" if key is False else str(key)


def columns(declared: Sequence[Column]) -> None:
    """One line for each, all of them in sight; what is wider than the page scrolls by itself."""
    titles = [(title, "") for title in ("Column", "Type", "Bounds or keys", "Description")]
    with theme.table(titles, f"{len(declared):,} columns", "d-columns"):
        for column in declared[:MOST]:
            words = (kind(column), ""), (limits(column), ""), (column.description, "d-muted")
            theme.row((column.name, "d-name"), *words)
    further(declared)


def further(declared: Sequence[Column]) -> None:
    """How many columns are not shown, if any."""
    if rest := len(declared[MOST:]):
        theme.note(f"And {rest:,} more {'column' if rest == 1 else 'columns'}.")


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
        more = f" and {len(column.keys) - _NAMED} more" if len(column.keys) > _NAMED else ""
        said.append(", ".join(str(key) for key in column.keys[:_NAMED]) + more)
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
