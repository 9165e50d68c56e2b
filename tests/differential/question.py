"""A question twice: as an analyst asks it of a home, and as plain DuckDB answers it on the bounded table.

Texts hold places: `«main.age»` is a column, `‹main.age›` a column inside an aggregate (plain DuckDB reads its bounded
twin), `⟦main⟧` a table. The sheet may be left out for `main`.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace

from differential.sheet import Value, World

_PLACE = re.compile(r"«([\w.]+)»|‹([\w.]+)›|⟦(\w+)⟧")
_RESERVED = {"order", "group", "value", "day", "date", "kind", "week", "area", "sort"}


@dataclass(frozen=True)
class Cell:
    """What one column of an answer is, and how near it must be."""

    kind: str  # count, sum, avg, variance, stddev, rank, ratio
    span: float = 1.0  # the range of what one row adds, or of the number itself
    slack: float = 0.0  # of a quantile: how far rounding to the step may move it
    level: float = 0.5  # of a quantile
    staged: bool = False  # whether a condition holds a noisy number, so that there is no error bar


@dataclass(frozen=True)
class Item:
    """One number of an answer."""

    ours: str
    cell: Cell
    plain: str = ""  # if it is said in other words

    @property
    def theirs(self) -> str:
        return self.plain or self.ours


@dataclass(frozen=True)
class Key:
    """One thing to group by: its values if they are declared."""

    text: str
    values: tuple[Value, ...] | None = None


@dataclass(frozen=True)
class Question:
    """One question in both tongues, and what its answer must look like."""

    kind: str
    ours: str
    plain: str
    cells: tuple[Cell, ...]
    keys: tuple[Key, ...] = ()
    ordered: bool = False  # the rows and their order are as in plain DuckDB
    rollup: bool = False
    caps: tuple[int, int] | None = None  # other caps than declared: rows, groups
    rows: str = "main"
    names: tuple[str, ...] = ()  # of the columns of an answer, where they are said

    @property
    def named(self) -> bool:
        """Whether all groups are known before anything is read."""
        return all(key.values is not None for key in self.keys)


def asked(  # noqa: PLR0913  # the parts of a question
    kind: str,
    items: list[Item],
    keys: tuple[Key, ...] = (),
    *,
    source: str = "⟦main⟧ AS v",
    where: str = "",
    unit: str = "v.«unit»",
    rows: str = "main",
) -> Question:
    """SELECT keys, items FROM source WHERE … GROUP BY keys."""
    selected = [f"{key.text} AS k{i}" for i, key in enumerate(keys)]
    grouped = f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
    filtered = f" WHERE {where}" if where else ""
    ours = [*selected, *(f'{item.ours} AS "Nr {i}"' for i, item in enumerate(items))]
    plain = [*selected, *(f"{item.theirs} AS n{i}" for i, item in enumerate(items)), f"count(DISTINCT {unit}) AS units"]
    return Question(
        kind,
        f"SELECT {', '.join(ours)} FROM {source}{filtered}{grouped}",
        f"SELECT {', '.join(plain)} FROM {source}{filtered}{grouped}",
        tuple(item.cell for item in items),
        keys,
        rows=rows,
        names=(*(f"k{i}" for i in range(len(keys))), *(f"Nr {i}" for i in range(len(items)))),
    )


def spelled(question: Question, world: World, rng: random.Random) -> Question:
    """The question with names: in the home those that are declared, as people spell them; in plain DuckDB the roles."""
    return replace(
        question,
        ours=_PLACE.sub(lambda found: _ours(found, world, rng), question.ours),
        plain=_PLACE.sub(_plain, question.plain),
    )


def _plain(found: re.Match[str]) -> str:
    raw, inner, table = found.groups()
    role = (raw or inner or table).rpartition(".")[2]
    return f"{role}_b" if inner else role


def _ours(found: re.Match[str], world: World, rng: random.Random) -> str:
    raw, inner, table = found.groups()
    if table:
        return _spelled(world.sheets[table].name, rng)
    sheet, _, role = (raw or inner).rpartition(".")
    return _spelled(world.field(role, sheet or "main").name, rng)


def _spelled(name: str, rng: random.Random) -> str:
    """In double quotes as it is, or without them in any case."""
    bare = re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", name) and name.lower() not in _RESERVED
    if not bare or rng.random() < 0.4:
        return '"' + name.replace('"', '""') + '"'
    return rng.choice((name, name, name.lower(), name.upper(), name.swapcase()))
