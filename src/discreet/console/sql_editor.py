"""Where a question is written: an editor that knows the names of tables, columns and functions."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui
from nicegui.events import GenericEventArguments

from discreet.console import assets
from discreet.console.example_questions import written
from discreet.sql.schema import Column, Table

Heard = Callable[[], Awaitable[None]]

LONGEST = 65_536  # characters in an editor

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


def changed_text(text: str, change: object) -> str | None:
    """A text after a change as CodeMirror tells it; None if it is no change of this text, or makes it too long.

    A change is pairs of lengths, of what was and of what is there now; -1 says that it stays. They count as JavaScript
    does, in halves of UTF-16. NiceGUI believes them: with negative ones a few messages would fill the memory.
    """
    sections, inserted = (change.get("sections"), change.get("inserted")) if isinstance(change, dict) else (None, None)
    if not isinstance(sections, list) or not isinstance(inserted, list) or len(sections) % 2:
        return None
    if any(type(length) is not int or length < -1 for length in sections):
        return None
    before, after, units = sections[::2], sections[1::2], _units(text)
    if min(before, default=0) < 0 or 2 * sum(before) != len(units):
        return None
    parts, start = [], 0
    for at, (was, now) in enumerate(zip(before, after, strict=True)):
        lines = inserted[at] if now >= 0 and at < len(inserted) else []
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            return None
        parts.append(units[start : start + 2 * was] if now < 0 else _units("\n".join(lines)))
        start += 2 * was
    found = b"".join(parts).decode("utf-16-le", "surrogatepass")
    return found if len(found) <= LONGEST else None


def _units(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


def _as_shown(text: str) -> str:
    """With the ends of lines that CodeMirror makes of all others, or lengths would not agree."""
    return re.sub(r"\r\n?", "\n", text)


class _Field(ui.codemirror):
    """NiceGUI's editor, which takes only changes of the text that it has."""

    def _event_args_to_value(self, e: GenericEventArguments) -> str:
        text = str(self.value or "")
        found = changed_text(text, e.args)
        if found is None:
            self.update()  # the browser may show something else, and nobody shall ask what they do not see
            return text
        return found


class Editor:
    """The editor of a page. There is one."""

    def __init__(self, text: str, tables: Sequence[Table], *, changed: Heard, entered: Heard) -> None:
        self._client = ui.context.client  # whatever becomes of the button by which somebody changed something
        ui.add_head_html(
            f'<link rel="stylesheet" href="{assets.address("ask.css")}">'
            f'<script type="module" src="{assets.address("ask.js")}"></script>'
        )
        self._field = _Field(
            _as_shown(text),
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
        self._field.value = _as_shown(text)

    def mark(self, text: str, place: tuple[int, int] | None) -> None:
        """Mark a part of a text, if the editor still has this text; None takes the mark away.

        Not as a decoration of NiceGUI's: with those it sends the text again, and what was typed meanwhile is lost.
        """
        start, end = (None, None) if place is None else place
        self._client.run_javascript(
            f"window.discreetMark?.({json.dumps(text)}, {json.dumps(start)}, {json.dumps(end)})"
        )
