"""Parts of questions about a made-up world: conditions, numbers, and what to group by."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal

from differential.cells import FIRST
from differential.question import Cell, Item, Key, Question
from differential.sheet import Field, Value, World

Family = Callable[["Maker"], Question]
COUNT = Item("count(*)", Cell("count"))


class Maker:
    """Makes parts of questions by chance."""

    def __init__(self, world: World, rng: random.Random) -> None:
        self.world, self.rng = world, rng

    def field(self, role: str, sheet: str = "main") -> Field:
        return self.world.field(role, sheet)

    # conditions -------------------------------------------------------------------------------------------------------

    def condition(self) -> str:
        """A condition on rows of `v`."""
        parts = [self.rng.choice(self._simple)(self) for _ in range(self.rng.choice((1, 1, 2)))]
        if self.rng.random() < 0.2:
            parts[0] = f"NOT ({parts[0]})"
        return self.rng.choice((" AND ", " OR ")).join(f"({part})" for part in parts)

    def sometimes(self) -> str:
        return self.condition() if self.rng.random() < 0.4 else ""

    def _number(self) -> str:
        role = self.rng.choice(("tame", "wild", "other", "nr"))
        return f"v.«{role}» {self.rng.choice(('<', '<=', '>', '>=', '=', '<>'))} {self.number(role)}"

    def _between(self) -> str:
        role = self.rng.choice(("tame", "wild", "other"))
        low, high = sorted([self.value(role), self.value(role)])
        return f"v.«{role}» {self.rng.choice(('', 'NOT '))}BETWEEN {low} AND {high}"

    def _text(self) -> str:
        role = self.rng.choice(("key", "free"))
        texts = sorted({str(t) for t in self.world.sheets["main"].columns[role] if t is not None})[:6] or ["north"]
        some = ", ".join(_quoted(text) for text in self.rng.sample(texts, min(len(texts), 2)))
        return self.rng.choice(
            (
                f"v.«{role}» = {_quoted(texts[0])}",
                f"v.«{role}» <> {_quoted(texts[-1])}",
                f"v.«{role}» IN ({some})",
                f"v.«{role}» NOT IN ({some})",
                f"v.«{role}» LIKE '%th%'",
                f"v.«{role}» NOT LIKE '_o%'",
                f"v.«{role}» ILIKE 'SO%'",
                f"lower(v.«{role}») = {_quoted(texts[0].lower())}",
                f"length(v.«{role}») > 4",
                f"coalesce(v.«{role}», 'none') = 'none'",
                f"v.«{role}» > 'm'",
            )
        )

    def _date(self) -> str:
        day = FIRST + dt.timedelta(self.rng.randrange(-6, 31))
        moment = dt.datetime.combine(day, dt.time(self.rng.randrange(24), 30))
        return self.rng.choice(
            (
                f"v.«day» >= DATE '{day}'",
                f"v.«day» < '{day}'",
                f"v.«day» = DATE '{day}'",
                f"v.«day» IN (DATE '{day}', DATE '2024-02-29')",
                f"v.«day» BETWEEN '{FIRST}' AND '{day}'",
                f"v.«day» < DATE '9999-12-31' AND v.«day» + INTERVAL '1' DAY > DATE '{day}'",
                f"v.«moment» >= TIMESTAMP '{moment}'",
                f"v.«moment» < TIMESTAMP '{moment.isoformat()}'",
                f"v.«moment» BETWEEN TIMESTAMP '{FIRST} 00:00:00' AND TIMESTAMP '{moment}'",
                f"CAST(v.«moment» AS DATE) = DATE '{day}'",
                f"extract(month FROM v.«day») = {day.month}",
                f"extract(hour FROM v.«moment») < {moment.hour}",
            )
        )

    def _truth(self) -> str:
        return self.rng.choice(
            ("v.«flag»", "NOT v.«flag»", "v.«flag» = FALSE", "v.«flag» IS TRUE", "v.«flag» IS NOT TRUE")
        )

    def _null(self) -> str:
        role = self.rng.choice(("tame", "key", "free", "flag", "day", "moment", "code"))
        return f"v.«{role}» IS {self.rng.choice(('', 'NOT '))}NULL"

    def _code(self) -> str:
        codes = self.field("code").keys or ()
        return self.rng.choice(
            (
                f"v.«code» = {codes[0]}",
                f"v.«code» IN ({codes[1]}, {codes[2]}, 99)",
                f"v.«code» IS DISTINCT FROM {codes[1]}",
            )
        )

    _simple = (_number, _between, _text, _date, _truth, _null, _code)

    def value(self, role: str) -> Decimal:
        """A number near those of a column, on its grid."""
        each = self.field(role)
        if each.bounds is None:
            return Decimal(self.rng.randrange(max(1, self.world.sheets["main"].rows)))
        first, last = each.ends
        exact = self.rng.randint(first, last) * each.step
        return Decimal(exact.numerator) / Decimal(exact.denominator)

    def number(self, role: str) -> str:
        """A literal."""
        value = self.value(role)
        return self.rng.choice((f"{value:f}", f"{value:f}", f"CAST('{value:f}' AS DOUBLE)"))

    # numbers ----------------------------------------------------------------------------------------------------------

    def sum_of(self, role: str, sheet: str = "main", alias: str = "v") -> Item:
        each = self.field(role, sheet)
        x = f"{alias}.‹{sheet}.{role}›"
        return Item(f"sum({x})", Cell("sum", each.reach), f"fsum({x})")

    def avg_of(self, role: str, sheet: str = "main", alias: str = "v") -> Item:
        each = self.field(role, sheet)
        x = f"{alias}.‹{sheet}.{role}›"
        return Item(f"avg({x})", Cell("avg", each.span), f"fsum({x}) / count({x})")

    def count_of(self, role: str) -> Item:
        each = self.field(role)
        return Item(f"count(v.{'‹' if each.bounds else '«'}{role}{'›' if each.bounds else '»'})", Cell("count"))

    def spread_of(self, role: str) -> Item:
        each, rng = self.field(role), self.rng
        word = rng.choice(("var_samp", "var_pop", "variance", "stddev", "stddev_samp", "stddev_pop"))
        kind = "variance" if word.startswith("var") else "stddev"
        x = f"v.‹{role}›"
        centred = f"({x} - {float(each.bounds[0] + each.bounds[1]) / 2!r})" if each.bounds else x
        return Item(f"{word}({x})", Cell(kind, each.span), f"{word}({centred})")

    def rank_of(self, role: str, sheet: str = "main", alias: str = "v") -> Item:
        each = self.field(role, sheet)
        x, level = f"{alias}.‹{sheet}.{role}›", self.rng.choice((0.1, 0.25, 0.5, 0.9))
        ours, level = self.rng.choice(
            (
                (f"median({x})", 0.5),
                (f"percentile_cont({level}) WITHIN GROUP (ORDER BY {x})", level),
                (f"percentile_disc({level}) WITHIN GROUP (ORDER BY {x})", level),
                (f"min({x})", 0.0),
                (f"max({x})", 1.0),
            )
        )
        span, step = (each.span, float(each.step)) if each.bounds else (100.0, 1.0)
        return Item(ours, Cell("rank", span, step, level), f"list({x} ORDER BY {x})")

    def distinct_of(self) -> Item:
        role = self.rng.choice(("unit", "tame", "wild", "wild", "key", "free", "flag", "day", "moment", "code"))
        if role == "wild" and self.field(role).kind == "real":
            return Item(
                "count(DISTINCT v.«wild»)",
                Cell("count"),
                "count(DISTINCT CASE WHEN NOT isnan(v.«wild») THEN v.«wild» END)",
            )
        return Item(f"count(DISTINCT v.«{role}»)", Cell("count"))

    def worked_out(self) -> Item:
        """A sum of what arithmetic makes of bounded columns."""
        a, b, rng = self.field("tame"), self.field("other"), self.rng
        x, y = "v.‹tame›", "v.‹other›"
        text, reach = rng.choice(
            (
                (f"{x} * 2 - 10", 2 * a.reach + 10),
                (f"{x} + {y}", a.reach + b.reach),
                (f"{x} - {y}", a.reach + b.reach),
                (f"{x} / 4.0", a.reach / 4),
                (f"abs({x})", a.reach),
                (f"CASE WHEN v.«flag» THEN {x} ELSE 0 END", a.reach),
                ("CASE WHEN v.«flag» THEN 1 ELSE 0 END", 1.0),
                (f"coalesce({x}, 0)", a.reach),
                (f"LEAST(GREATEST({x}, 0), 100)", 100.0),
                (f"-{x}", a.reach),
                (f"{x} / 4", a.reach / 4),
                (f"sqrt(abs({x}))", a.reach**0.5),
                (f"{x} / (1 + abs({y}))", a.reach),
            )
        )
        # whole numbers are divided as Postgres divides them
        cut = {f"{x} / 4": a.kind == "whole", f"{x} / (1 + abs({y}))": a.kind == b.kind == "whole"}.get(text, False)
        return Item(f"sum({text})", Cell("sum", reach), f"fsum({f'trunc({text})' if cut else text})")

    def any_number(self) -> Item:
        rng = self.rng
        role = rng.choice(("tame", "wild", "other", "weight"))
        return rng.choice(
            (
                lambda: COUNT,
                lambda: self.count_of(rng.choice(("tame", "wild", "key", "day", "flag"))),
                lambda: self.sum_of(role),
                lambda: self.sum_of(role),
                lambda: self.avg_of(role),
                lambda: self.avg_of(role),
                lambda: self.spread_of(role),
                lambda: self.rank_of(role),
                self.distinct_of,
                self.worked_out,
                lambda: self.filtered(self.avg_of(role)),
                lambda: self.filtered(COUNT),
                lambda: self.filtered(self.sum_of(role)),
            )
        )()

    def filtered(self, item: Item) -> Item:
        condition = self.condition()
        theirs = f"{item.theirs} FILTER (WHERE {condition})"
        if item.cell.kind == "avg":
            theirs = " / ".join(f"{part} FILTER (WHERE {condition})" for part in item.theirs.split(" / "))
        return Item(f"{item.ours} FILTER (WHERE {condition})", item.cell, theirs)

    def numbers(self) -> list[Item]:
        return [self.any_number() for _ in range(self.rng.choice((1, 1, 2, 3)))]

    # groups -----------------------------------------------------------------------------------------------------------

    def declared_key(self) -> Key:
        rng, limit = self.rng, self.value("tame")
        day = FIRST + dt.timedelta(rng.randrange(20))
        at = dt.datetime.combine(day, dt.time(10, 30))
        key, code = self.field("key").keys or (), self.field("code").keys or ()
        return rng.choice(
            (
                Key("v.«key»", key),
                Key("v.«key»", key),
                Key("v.«code»", code),
                Key("v.«flag»", (False, True)),
                Key(f"v.«tame» > {limit:f}", (False, True)),
                Key("CASE WHEN v.«flag» THEN 'Yes, it is' ELSE 'no' END", ("Yes, it is", "no")),
                Key(f"CASE WHEN v.«tame» > {limit:f} THEN 1 WHEN v.«tame» IS NULL THEN -1 ELSE 0 END", (1, -1, 0)),
                Key(f"CASE WHEN v.«flag» THEN DATE '{day}' ELSE DATE '1999-01-31' END", (day, dt.date(1999, 1, 31))),
                Key(
                    f"CASE WHEN v.«flag» THEN TIMESTAMP '{at}' ELSE TIMESTAMP '2001-02-03T04:05:06' END",
                    (at, dt.datetime(2001, 2, 3, 4, 5, 6)),  # noqa: DTZ001  # a clock on the wall
                ),
            )
        )

    def open_key(self) -> Key:
        return Key(
            self.rng.choice(
                (
                    "v.«free»",
                    "v.«day»",
                    "v.«moment»",
                    "date_trunc('month', v.«day»)",
                    "date_trunc('week', v.«day»)",
                    "date_trunc('day', v.«moment»)",
                    "date_trunc('hour', v.«moment»)",
                    "extract(month FROM v.«day»)",
                    "extract(dow FROM v.«day»)",
                    "extract(hour FROM v.«moment»)",
                    "extract(year FROM v.«moment»)",
                    "lower(v.«free»)",
                    "length(v.«free»)",
                    "substring(v.«free», 1, 1)",
                    "CAST(v.«moment» AS DATE)",
                    "coalesce(v.«free», '-')",
                    "v.«code» + 1",
                    "v.«nr» % 3",
                )
            )
        )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def literal(value: Value) -> str:
    """A value as plain DuckDB reads it."""
    if isinstance(value, bool) or value is None:
        return str(value).upper() if value is not None else "NULL"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value}'"
    if isinstance(value, dt.date):
        return f"DATE '{value}'"
    return _quoted(value) if isinstance(value, str) else str(value)
