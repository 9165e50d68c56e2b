"""Questions to begin with, made of what is declared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from discreet.sql.schema import Column, Table

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
