"""Where a question is written: an editor that knows the names of tables, columns and functions."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from discreet.console import assets
from discreet.console.examples import written
from discreet.sql.schema import Column, Table

Heard = Callable[[], Awaitable[None]]

FUNCTIONS = (
    *("count", "sum", "avg", "median", "min", "max", "stddev", "variance", "percentile_cont"),
    *("abs", "ceil", "coalesce", "exp", "extract", "floor", "greatest", "least", "length", "ln", "lower", "nullif"),
    *("power", "round", "sqrt", "substring", "trim", "upper", "width_bucket", "date_trunc"),
)


def names(tables: Sequence[Table]) -> dict[str, object]:
    """What can be completed: public facts alone."""
    return {
        "functions": list(FUNCTIONS),
        "tables": [
            {
                "name": table.name,
                "insert": written(table.name),
                "detail": "public" if table.public else "",
                "columns": [_name(column) for column in table.columns],
            }
            for table in tables
        ],
    }


def _name(column: Column) -> dict[str, str]:
    return {"name": column.name, "insert": written(column.name), "detail": column.type.value}


class Editor:
    """The editor of a page. There is one."""

    def __init__(self, text: str, tables: Sequence[Table], *, changed: Heard, entered: Heard) -> None:
        self._client = ui.context.client  # whatever becomes of the button by which somebody changed something
        ui.add_head_html(
            f'<link rel="stylesheet" href="{assets.address("ask.css")}">'
            f'<script type="module" src="{assets.address("ask.js")}"></script>'
        )
        self._field = ui.codemirror(
            text,
            line_wrapping=True,
            indent="  ",
            on_change=changed,
            keymap={"Mod-Enter": entered, "Ctrl-Enter": entered},
        )
        self._field.classes("d-editor")
        self._field.props["data-names"] = json.dumps(names(tables), ensure_ascii=False)

    @property
    def text(self) -> str:
        """What is written in it."""
        return str(self._field.value or "")

    def write(self, text: str) -> None:
        """Write something else into it. Whoever listens to changes hears of it."""
        self._field.value = text

    def mark(self, text: str, place: tuple[int, int] | None) -> None:
        """Mark a part of a text, if the editor still has this text; None takes the mark away.

        Not as a decoration of NiceGUI's: with those it sends the text again, and what was typed meanwhile is lost.
        """
        start, end = (None, None) if place is None else place
        self._client.run_javascript(
            f"window.discreetMark?.({json.dumps(text)}, {json.dumps(start)}, {json.dumps(end)})"
        )
