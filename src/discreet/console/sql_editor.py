"""SQL editor: names of tables, columns and functions to complete, and example questions to begin with."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from nicegui import ui
from nicegui.events import GenericEventArguments

from discreet.console.pages import static_address
from discreet.declared.column import Column
from discreet.declared.table import Table

Heard = Callable[[], Awaitable[None]]

LONGEST = 65_536  # characters in an editor

FUNCTIONS = (
    *("count", "sum", "avg", "median", "min", "max", "stddev", "variance", "percentile_cont"),
    *("abs", "ceil", "coalesce", "exp", "extract", "floor", "greatest", "least", "length", "ln", "lower", "nullif"),
    *("power", "round", "sqrt", "substring", "trim", "upper", "width_bucket", "date_trunc"),
)
_WORD = re.compile(r"[a-z_][a-z0-9_]*")
_KEYWORDS = frozenset(
    _WORD.findall(
        "all and any array as asc between both by case cast check column constraint create cross current_date "
        "current_time current_timestamp current_user default desc distinct do else end except exists false fetch "
        "filter for foreign from full grant group having in inner intersect into is join leading left like limit "
        "natural not null offset on only or order outer over primary references right rows select session_user set "
        "some table then to trailing true union unique user using values when where window with"
    )
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
    changed = b"".join(parts).decode("utf-16-le", "surrogatepass")
    return changed if len(changed) <= LONGEST else None


def _units(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


def _as_shown(text: str) -> str:
    """With the ends of lines that CodeMirror makes of all others, or lengths would not agree."""
    return re.sub(r"\r\n?", "\n", text)


class _Field(ui.codemirror):
    """NiceGUI's editor, which takes only changes of the text that it has."""

    def _event_args_to_value(self, e: GenericEventArguments) -> str:
        text = str(self.value or "")
        changed = changed_text(text, e.args)
        if changed is None:
            self.update()  # the browser may show something else, and nobody shall ask what they do not see
            return text
        return changed


class Editor:
    """The editor of a page. There is one."""

    def __init__(self, text: str, tables: Sequence[Table], *, changed: Heard, entered: Heard) -> None:
        self._client = ui.context.client  # whatever becomes of the button by which somebody changed something
        ui.add_head_html(
            f'<link rel="stylesheet" href="{static_address("ask.css")}">'
            f'<script type="module" src="{static_address("ask.js")}"></script>'
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


@dataclass(frozen=True)
class Example:
    """A question in words and in SQL."""

    words: str
    sql: str


def written(name: str) -> str:
    """A name as it stands in SQL: in quotes unless it is one plain word."""
    if _WORD.fullmatch(name) and name not in _KEYWORDS:
        return name
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def examples(tables: Sequence[Table]) -> tuple[Example, ...]:
    """At most three, about the first private table that has something to group by; none without private tables."""
    private = [table for table in tables if not table.public]
    if not private:
        return ()
    table = max(private, key=lambda each: sum(1 for _ in _about(each)))  # the first of those with most
    return tuple(_about(table))


def _about(table: Table) -> Iterator[Example]:
    name = written(table.name)
    yield Example(f"How many {_said(table.name)}?", f"SELECT count(*) AS n\nFROM {name}")
    group = next((each for each in table.columns if each.keys is not None and each.name != table.unit), None)
    if group is not None:
        by = written(group.name)
        yield Example(
            f"How many per {_said(group.name)}?",
            f"SELECT {by}, count(*) AS n\nFROM {name}\nGROUP BY {by}\nORDER BY {by}",
        )
    number = next((each for each in table.columns if _can_be_averaged(each, table)), None)
    if number is None or table.max_rows is None:
        return
    of = written(number.name)
    if group is None:
        yield Example(f"Average {_said(number.name)}", f"SELECT avg({of}) AS average\nFROM {name}")
    else:
        by = written(group.name)
        yield Example(
            f"Average {_said(number.name)} per {_said(group.name)}",
            f"SELECT {by}, avg({of}) AS average\nFROM {name}\nGROUP BY {by}\nORDER BY {by}",
        )


def _said(name: str) -> str:
    return name.replace("_", " ")


def _can_be_averaged(column: Column, table: Table) -> bool:
    return column.bounds is not None and column.type.numeric and column.keys is None and column.name != table.unit
