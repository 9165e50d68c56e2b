"""What a stream's numbers leave out, in words: from what was declared, so that it says nothing of any row."""

from __future__ import annotations

from discreet.declared.grid import LIMIT
from discreet.declared.group_key import Type
from discreet.exact import spoken
from discreet.stream.declaration import StreamDeclaration

_MOST_ROWS = 1 << 40  # of one step: no file has more
UNTOLD = "How many these are is not told."
OF_ROWS = "Each row is protected by itself: whoever has several rows is protected less."


def left_out(declared: StreamDeclaration, horizon: int) -> tuple[str, ...]:
    """One sentence for each thing that does not count, or counts as something else."""
    sentences = [*_unit(declared), *_keys(declared), *_amounts(declared, horizon)]
    sentences.append(f"After step {horizon} it is closed: what comes later does not count.")
    own = [OF_ROWS] if declared.table.unit is None else []
    return (*sentences, UNTOLD, *own)


def _unit(declared: StreamDeclaration) -> list[str]:
    unit, kind, most = declared.table.unit, declared.unit_type, declared.table.max_rows
    if unit is None:
        return []
    wrong = "is NULL" if kind is None or kind is Type.VARCHAR else f"is NULL or no {kind.value}"
    rows = "1 row counts" if most == 1 else f"{most} rows count"
    return [
        f"Rows in which {unit} {wrong} are left out.",
        f"Of one {unit} {rows}, over all steps and keys: those of earlier steps, and within a step they are drawn.",
    ]


def _keys(declared: StreamDeclaration) -> list[str]:
    if declared.by is None:
        return []
    if declared.edges:
        first, last = spoken(declared.edges[0]), spoken(declared.edges[-1])
        beyond = f"below {first}, or {last} and above"
        return [f"Rows in which {declared.by} is NULL, no number, {beyond} are left out, of the total too."]
    return [f"Rows in which {declared.by} is NULL or none of the declared keys are left out, of the total too."]


def _amounts(declared: StreamDeclaration, horizon: int) -> list[str]:
    if declared.value is None:
        return []
    name, grid = declared.value, declared.grid
    low, high = spoken(grid.low * grid.step), spoken(grid.high * grid.step)
    sentences = [
        f"Rows in which {name} is NULL or no number are left out.",
        f"Values of {name} below {low} count as {low}, and above {high} as {high}.",
        f"Values of {name} are rounded to steps of {spoken(grid.step)}.",
    ]
    most = LIMIT // horizon
    if max(abs(grid.low), abs(grid.high)) * _MOST_ROWS > most:
        largest = spoken(most * grid.step)
        sentences.append(f"What one step adds to a key counts as {largest} if it is more, as -{largest} if less.")
    return sentences
