"""What a plan says, in one text: two plans have the same one if and only if they mean the same.

Of a table stand here the facts that decide which rows there are and whose: its name, version, owners and the names of
its columns. What else is declared of columns (bounds, steps, keys, caps) stands where a plan uses it: in the grid of a
sum, in the values of a key, in a cap. So what is declared of a column that a plan does not use changes nothing here,
nor does a description.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from discreet.declared.grid import Grid
from discreet.declared.table import Table

LATER = "later"  # marks a field that plans did not have at first: where it is None, they are described as they were


def described(value: object) -> str:
    """The text of a plan, or of a part of one. Texts and numbers are written so that nothing can pass for another."""
    if isinstance(value, Table):
        names = tuple(column.name for column in value.columns)
        return f"Table{(value.name, value.version, value.population, value.unit, value.link, names)!r}"
    if isinstance(value, Grid):
        return f"Grid(low={value.low}, high={value.high}, step={value.step!r})"
    if isinstance(value, tuple):
        return f"({''.join(f'{described(part)}, ' for part in value)})"
    if is_dataclass(value) and not isinstance(value, type):
        told = [
            each.name for each in fields(value) if not each.metadata.get(LATER) or getattr(value, each.name) is not None
        ]
        parts = ", ".join(f"{name}={described(getattr(value, name))}" for name in told)
        return f"{type(value).__name__}({parts})"
    return repr(value)
