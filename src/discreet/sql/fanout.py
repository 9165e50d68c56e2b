"""How many rows one row can become beside public ones: bounded while a question is planned, from public facts alone.

A row meets those public rows that are alike with it in what an equality compares. So the largest number of public rows
that are alike there is the most that it becomes, and joins one after another multiply. The product is limited, and so
is what one person brings before it: nobody makes more than MOST_ROWS_A_UNIT rows, whatever the rows of one person say.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Protocol

from discreet.declared.group_key import Type
from discreet.declared.table import MOST_ROWS_A_UNIT
from discreet.errors import Refusal
from discreet.sql.expression import Call, Expression, Field, parts
from discreet.sql.owned_rows import (
    Among,
    Capped,
    Filter,
    Joined,
    Kept,
    PerUnit,
    Project,
    PublicJoin,
    Rows,
    Union,
    Windowed,
    scanned,
)
from discreet.sql.relation_facts import one_each, shape
from discreet.sql.render import Located, expression
from discreet.sql.render import rows as rows_text

MOST_PARTNERS = 1024  # public rows beside one private row, over all joins together
FEWEST = 64  # rows of one person that can always be joined
_BYTES = 64  # of text in each of these rows, on average: together no more than 2^26, however often it is repeated
MOST_COMPARED = 1 << 16  # public rows with which EXISTS compares one private row


class Alike(Protocol):
    """Who counts public rows."""

    def alike(self, rows: Rows, values: tuple[Expression, ...], /) -> int:
        """The largest number of public rows that have the same values; of no values, all rows."""
        ...


def held(rows: Rows, public: Alike, room: int = MOST_ROWS_A_UNIT) -> Rows:
    """The same rows, of which one person brings no more into public joins than `room` lets come out of them.

    What is public about them stays as it was: how many rows of a person count is said where they are counted.
    """
    return _shaped(_held(rows, public, room), rows)


def _shaped(made: Rows, like: Rows) -> Rows:
    if made is not like:
        object.__setattr__(made, "shape", shape(like))
    return made


def _held(rows: Rows, public: Alike, room: int) -> Rows:
    match rows:
        case PublicJoin():
            return _chain(rows, public, room)
        case Filter() | Project() | PerUnit() | Windowed() | Among() | Capped():
            return replace(rows, source=held(rows.source, public, room))
        case Joined():
            return replace(rows, left=held(rows.left, public), right=held(rows.right, public))
        case Kept():
            _refuse_comparisons(rows, public)
            return replace(rows, source=held(rows.source, public, room), others=held(rows.others, public))
        case Union():
            each = room // len(rows.sources)  # what all of them bring comes out together
            return replace(rows, sources=tuple(held(source, public, each) for source in rows.sources))
        case _:
            return rows


_PASSING = (Filter, Project, Windowed, Among, Kept)  # rows in, at most as many out


def _lookups(rows: Rows) -> Iterator[PublicJoin]:
    """The joins with public rows that multiply each other, from the last to the first."""
    while isinstance(rows, (PublicJoin, *_PASSING)):
        if isinstance(rows, PublicJoin):
            yield rows
        rows = rows.source


def _chain(last: PublicJoin, public: Alike, room: int) -> Rows:
    """A chain of joins, held before the first of them that makes more rows of one."""
    numbers = {id(each): partners(each, public) for each in _lookups(last)}
    product = math.prod(numbers.values())
    if product > MOST_PARTNERS:
        raise _refused([each for each in _lookups(last) if numbers[id(each)] > 1], numbers, product)
    if product > 1 and room // product < FEWEST:
        raise Refusal(
            f"UNION ALL combines so many joins with public rows that of one person no {FEWEST} rows could be joined",
            hint="ask about fewer of them at once",
        )
    first = [each for each in _lookups(last) if numbers[id(each)] > 1][-1:]
    return _held_before(last, first[0] if first else None, room // product, public)


def _held_before(rows: Rows, first: PublicJoin | None, most: int, public: Alike) -> Rows:
    if not isinstance(rows, (PublicJoin, *_PASSING)):
        return held(rows, public)
    if rows is first:
        source = held(rows.source, public)
        return _shaped(replace(rows, source=_few(source, most)), rows)
    made = replace(rows, source=_held_before(rows.source, first, most, public))
    if isinstance(made, Kept):
        _refuse_comparisons(made, public)
        made = replace(made, others=held(made.others, public))
    return _shaped(made, rows)


def _few(rows: Rows, most: int) -> Rows:
    """The rows of which each person brings so many, and no more text than they may have when it is repeated."""
    texts = any(known.type is Type.VARCHAR for known in shape(rows).columns.values())
    if _single(rows) and not texts:
        return rows
    return Capped(rows, most, most * _BYTES if texts else None)


def _single(rows: Rows) -> bool:
    """Whether a person has one row at most by the way they are made."""
    while isinstance(rows, _PASSING):
        rows = rows.source
    alone = all(table.unit is None for table in scanned(rows) if not table.public)
    return alone or (isinstance(rows, PerUnit) and one_each(rows))


def partners(join: PublicJoin, public: Alike) -> int:
    """The most public rows that one row can meet in a join; at least 1."""
    return max(1, public.alike(join.public, _compared(join.condition, join.source, join.public)))


def _compared(condition: Expression | None, source: Rows, public: Rows) -> tuple[Expression, ...]:
    """What equalities of a condition compare of the public rows with something of the others alone."""
    ours, theirs = set(shape(source).columns), set(shape(public).columns)
    compared: list[Expression] = []
    for part in _conjuncts(condition):
        if isinstance(part, Call) and part.function == "=":
            for one, two in (part.arguments, part.arguments[::-1]):
                if _fields(one) <= ours and _fields(two) and _fields(two) <= theirs:
                    compared.append(two)
    return tuple(dict.fromkeys(compared))


def _conjuncts(condition: Expression | None) -> Iterator[Expression]:
    if isinstance(condition, Call) and condition.function == "and":
        for part in condition.arguments:
            yield from _conjuncts(part)
    elif condition is not None:
        yield condition


def _fields(expression: Expression) -> set[str]:
    return {part.name for part in parts(expression) if isinstance(part, Field)}


def _refuse_comparisons(rows: Kept, public: Alike) -> None:
    """Refuse EXISTS that compares each row with too many public ones."""
    if shape(rows.others).population is not None:
        return
    number = public.alike(rows.others, _compared(rows.condition, rows.source, rows.others))
    if number > MOST_COMPARED:
        raise Refusal(
            f"EXISTS compares each row with {number:,} public rows, more than {MOST_COMPARED:,}",
            hint="compare something with = in which the public rows differ",
        )


def counted(public: Rows, values: tuple[Expression, ...], located: Located) -> str:
    """The largest number of public rows that have the same values, none of them NULL, as SQL."""
    names = [f"v{i}" for i in range(len(values))]
    items = ", ".join(f"{expression(value)} AS {name}" for name, value in zip(names, values, strict=True))
    tests = " AND ".join(f"{name} IS NOT NULL" for name in names)
    where, by = (f" WHERE {tests}", f" GROUP BY {', '.join(names)}") if names else ("", "")
    inner = f"SELECT {items or 1} FROM ({rows_text(public, located)})"  # noqa: S608  # from our own trees
    return f"SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM ({inner}){where}{by})"  # noqa: S608


def _refused(joins: Iterable[PublicJoin], numbers: dict[int, int], product: int) -> Refusal:
    """What multiplies, and by how much."""
    each = [f"{numbers[id(join)]:,} of {' and '.join(sorted(shape(join.public).tables)) or 'a list'}" for join in joins]
    return Refusal(
        f"one row could become {product:,} rows beside public ones ({', times '.join(each[::-1])}), "
        f"more than {MOST_PARTNERS:,}",
        hint="join public tables on columns in which their rows differ, or add one that has a row for each value",
    )
