"""The tables that may be asked about, with everything that is public about them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from nicegui import ui

from discreet.console import column_table, theme
from discreet.console.example_questions import written
from discreet.exact import spoken
from discreet.sql.dates import ends
from discreet.sql.schema import Column, Key, Table

_KEYS = 6  # that are shown of a column


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
                theme.tag("p", "There is no table that you may ask about yet.").classes("d-muted")
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
    found = [column.type.value]
    if column.name == table.unit:
        found.append("names the person")
    if column.bounds is not None:
        low, high = map(_short, column.bounds) if column.type.numeric else ends(column) or ("", "")
        found.append(f"{low} to {high}")
    if column.keys is not None:
        shown = ", ".join(map(_key, column.keys[:_KEYS]))
        found.append(f"{shown}, … {len(column.keys)} in all" if len(column.keys) > _KEYS else shown)
    return tuple(found)


def _table(table: Table) -> None:
    with ui.element("section").classes("d-table"):
        with ui.element("div").classes("d-table-head"):
            _name(table.name, "d-name d-name-table")
            if table.public:
                theme.tag("span", "public").classes("d-chip")
        theme.tag("p", about(table)).classes("d-muted d-small")
        with ui.element("ul").classes("d-columns"):
            for column in table.columns[: column_table.MOST]:
                with ui.element("li"):
                    _name(column.name, "d-name")
                    theme.tag("span", " · ".join(facts(column, table))).classes("d-muted d-small d-kinds")
                    if column.description:
                        theme.tag("span", column.description).classes("d-small d-described")
        column_table.further(table.columns)


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
