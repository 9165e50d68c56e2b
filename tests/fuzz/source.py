"""Made-up sources: what stands after FROM, made so that every row has one owner, and conditions on such rows."""

from __future__ import annotations

import random
from dataclasses import dataclass

from fuzz import words
from fuzz.expression import Expressions, Name

TABLES: dict[str, dict[str, str]] = {
    "patients": {"patient": "unit", "age": "whole", "sex": "key", "region": "key", "born": "day", "weight": "wild"},
    "visits": {
        "patient": "unit",
        "region": "key",
        "diagnosis": "text",
        "cost": "real",
        "day": "day",
        "urgent": "flag",
        "ward": "text",
    },
    "labs": {"patient": "unit", "test": "key", "value": "real", "taken": "time"},
    "stays": {"patient": "unit", "stay": "serial", "nights": "whole"},
    "bills": {"patient": "unit", "stay": "serial", "amount": "real"},
    "staff": {"member": "unit", "wage": "real"},
    "sensors": {"room": "serial", "heat": "real"},
    "wards": {"ward": "text", "beds": "wild", "floor": "wild"},
    "regions": {"region": "text", "area": "wild"},
}
PEOPLE = ("patients", "visits", "labs", "stays", "bills")  # of one population
SIMPLE = ("count(*)", "count(1)")


@dataclass(frozen=True)
class Source:
    """What stands after FROM, the columns it offers, and what WHERE must say for it."""

    text: str
    names: tuple[Name, ...]
    where: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """A column that owns the rows; if there is none, any."""
        units = [name.text for name in self.names if name.kind == "unit"]
        return units[0] if units else self.names[0].text


class Sources:
    """Makes sources. `chaos` is how often a part is not what belongs there."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.chaos = rng.choice([0, 0, 0, 0, 0.01, 0.03, 0.15])
        self.say = Expressions(rng, self.chaos)
        self.some, self.one = self.say.some, self.say.one
        self.ctes: list[str] = []
        self.made = 0

    def alias(self) -> str:
        """A new name; now and then an odd one, or one that is taken."""
        self.made += 1
        if self.some(self.chaos):
            return self.rng.choice([*words.NAMES, "a1", *TABLES])
        return f"a{self.made}"

    # sources ---------------------------------------------------------------------------------------------------------

    def source(self, depth: int) -> Source:
        """Rows that each have one owner."""
        if depth <= 0 or self.some(0.25):
            return self._table()
        kinds = [self._derived, self._each, self._different, self._ordered, self._together, self._joined, self._beside,
                 self._joined, self._beside, self._named]  # fmt: skip
        return self.rng.choice(kinds)(depth - 1)

    def _table(self) -> Source:
        table = self.rng.choice(PEOPLE if not self.some(max(self.chaos, 0.04)) else tuple(TABLES))
        return self._aliased(table, table)

    def _aliased(self, text: str, table: str) -> Source:
        alias = self.alias()
        names = tuple(Name(f"{alias}.{name}", kind) for name, kind in TABLES[table].items())
        return Source(f"{text} {self.rng.choice(['', 'AS '])}{alias}", names)

    def _query(self, text: str, columns: list[tuple[str, str]]) -> Source:
        """A query in parentheses, or one that WITH has named; its columns and their kinds."""
        alias = self.alias()
        listed = ""
        if self.some(0.1):
            columns = [(f"c{i}", kind) for i, (_, kind) in enumerate(columns)]
            listed = f"({', '.join(name for name, _ in columns)})"
        if self.some(0.2):
            self.ctes.append(f"{alias}{listed} AS ({text})")
            text = alias
        else:
            text = f"({text}) {alias}{listed}"
        return Source(text, tuple(Name(f"{alias}.{name}", kind) for name, kind in columns))

    def _named(self, depth: int) -> Source:
        """The same named query twice, joined on the unit."""
        inner = self._derived(depth)
        word = inner.text.split("(")[0].split(" ")[0]
        if not word or word in TABLES or not self.ctes:
            return inner
        again = self.alias()
        names = tuple(Name(f"{again}.{name.bare}", name.kind) for name in inner.names)
        return Source(
            f"{inner.text} JOIN {word} {again} ON {inner.unit} = {names[0].text}", (*inner.names, *names), inner.where
        )

    def _where(self, source: Source, depth: int, chance: float = 0.5) -> str:
        conditions = list(source.where)
        if self.some(chance):
            conditions.append(self.condition(source, depth))
        return f" WHERE {' AND '.join(conditions)}" if conditions else ""

    def _derived(self, depth: int) -> Source:
        source = self.source(depth)
        if self.some(0.2):
            columns = [(name.bare, name.kind) for name in source.names]
            if len({name for name, _ in columns}) == len(columns):
                return self._query(f"SELECT * FROM {source.text}{self._where(source, depth)}", columns)
        items = [(source.unit, "unit", "patient")] if not self.some(self.chaos) else []
        for name in self.rng.sample(source.names, min(len(source.names), self.rng.randint(1, 4))):
            items.append((name.text, name.kind, f"x{len(items)}"))
        items.append((self.say.bounded(source.names, depth), "real", f"x{len(items)}"))
        items.append((self.say.text(source.names, depth), "text", f"x{len(items)}"))
        listed = ", ".join(f"{text} AS {label}" for text, _, label in items)
        text = f"SELECT {listed} FROM {source.text}{self._where(source, depth)}"
        return self._query(text, [(label, kind) for _, kind, label in items])

    def _each(self, depth: int) -> Source:
        """One row a unit, or one for each of its values."""
        source = self.source(depth)
        keys = [(source.unit, "unit", "patient")]
        if self.some(0.4):
            keys.append((self.key(source, depth), "key", "k"))
        sums = [(self.summary(source, depth), "real", f"s{i}") for i in range(self.rng.randint(0, 3))]
        listed = ", ".join(f"{text} AS {label}" for text, _, label in (*keys, *sums))
        text = f"SELECT {listed} FROM {source.text}{self._where(source, depth)}"
        text += f" GROUP BY {', '.join(key for key, _, _ in keys)}"
        if self.some(0.3):
            text += f" HAVING {self.summary(source, depth)} {self.rng.choice('<>=')} {self.say.constant()}"
        return self._query(text, [(label, kind) for _, kind, label in (*keys, *sums)])

    def summary(self, source: Source, depth: int) -> str:
        """A number of one unit's rows."""
        value, what = self.say.bounded(source.names, depth), self.say.any(source.names, depth)
        made = self.rng.choice(
            ["count(*)", f"count({what})", f"count(DISTINCT {what})", f"sum({value})", f"avg({value})", f"min({what})",
             f"max({value})", f"max({value})", f"avg({value})"]
        )  # fmt: skip
        if self.some(0.15):
            made += f" FILTER (WHERE {self.say.truth(source.names, depth)})"
        if self.some(0.1):
            made = f"CAST(bool_or({self.say.truth(source.names, depth)}) AS int)"
        return f"LEAST(GREATEST({made}, 0), 50)" if self.some(0.3) and not made.startswith("min") else made

    def _different(self, depth: int) -> Source:
        source = self.source(depth)
        items = [(source.unit, "unit", "patient"), (self.say.text(source.names, depth), "text", "t")]
        if self.some(0.5):
            items.append((self.say.bounded(source.names, depth), "real", "v"))
        listed = ", ".join(f"{text} AS {label}" for text, _, label in items)
        text = f"SELECT DISTINCT {listed} FROM {source.text}{self._where(source, depth)}"
        return self._query(text, [(label, kind) for _, kind, label in items])

    def window(self, source: Source, depth: int) -> str:
        """A window over one unit's rows, most of the time."""
        value, what = self.say.bounded(source.names, depth), self.say.any(source.names, depth)
        function = self.rng.choice(
            ["row_number()", "rank()", "dense_rank()", f"lag({what})", f"lead({value}, {self.rng.randint(0, 1001)})",
             f"first_value({what})", f"last_value({what})", f"sum({value})", f"count({what})", "count(*)",
             f"max({value})", f"avg({value})", f"min({what})"]
        )  # fmt: skip
        if self.some(self.chaos):
            function = self.rng.choice(
                ["ntile(3)", f"lag({what}, 1, {what})", f"nth_value({what}, 2)", "percent_rank()"]
            )
        keys = [source.unit] if not self.some(self.chaos) else []
        if self.some(0.2):
            keys.append(self.say.text(source.names, depth))
        over = f"PARTITION BY {', '.join(keys)}" if keys else ""
        if self.some(0.8):
            order = [self.say.any(source.names, depth) for _ in range(self.rng.randint(1, 2))]
            turns = ["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]
            over += f" ORDER BY {', '.join(text + self.rng.choice(turns) for text in order)}"
        if self.some(0.3):
            ends = ["UNBOUNDED", "1", "0", "CURRENT ROW", "1000", "7"]
            sides = ("PRECEDING", self.say.rare(["FOLLOWING"], ["PRECEDING"]))
            first, last = (
                "CURRENT ROW" if end == "CURRENT ROW" else f"{end} {side}"
                for end, side in zip(self.rng.choices(ends, k=2), sides, strict=True)
            )
            over += f" {self.say.rare(['ROWS'], ['RANGE', 'GROUPS'])} BETWEEN {first} AND {last}"
        return f"{function} OVER ({over.strip()})"

    def _ordered(self, depth: int) -> Source:
        source = self.source(depth)
        kept = self.rng.sample(source.names, min(len(source.names), 3))
        items = [(source.unit, "unit", "patient"), *((n.text, n.kind, f"x{i}") for i, n in enumerate(kept))]
        for i in range(self.rng.randint(1, 2)):
            made = self.window(source, depth)
            items.append((made, "real", f"w{i}"))
        listed = ", ".join(f"{text} AS {label}" for text, _, label in items)
        text = f"SELECT {listed} FROM {source.text}{self._where(source, depth)}"
        return self._query(text, [(label, kind) for _, kind, label in items])

    def _together(self, depth: int) -> Source:
        sides = []
        for _ in range(self.rng.choice([2, 2, 3])):
            source = self.source(depth)
            items = [source.unit, self.say.bounded(source.names, depth), self.say.text(source.names, depth)]
            if self.some(self.chaos):
                self.rng.shuffle(items)
            labels = ("patient", "v", "t") if not self.some(0.2) else ("a", "b", "c")
            listed = ", ".join(f"{text} AS {label}" for text, label in zip(items, labels, strict=True))
            sides.append((f"SELECT {listed} FROM {source.text}{self._where(source, depth)}", labels))
        word = self.rng.choice(
            [" UNION ALL ", " UNION ALL ", " UNION ", " EXCEPT " if self.some(0.1) else " UNION ALL "]
        )
        columns = list(zip(sides[0][1], ("unit", "real", "text"), strict=True))
        return self._query(word.join(text for text, _ in sides), columns)

    def _joined(self, depth: int) -> Source:
        one, two = self.source(depth), self.source(depth)
        kind = self.rng.choice(["JOIN", "JOIN", "INNER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", ","])
        on = f"{one.unit} = {two.unit}"
        if "stay" in {name.bare for name in one.names} & {name.bare for name in two.names} and self.some(0.5):
            first, second = (next(n.text for n in s.names if n.bare == "stay") for s in (one, two))
            on = f"{first} = {second}"
        if self.some(self.chaos):
            on = self.say.truth((*one.names, *two.names), depth)
        names = (*one.names, *two.names)
        if kind == ",":
            return Source(f"{one.text}, {two.text}", names, (*one.where, *two.where, on))
        if self.some(0.3):
            on += f" AND {self.say.truth(names, depth) if self.some(0.9) else self.say.any(names, depth)}"
        if self.some(max(self.chaos, 0.03)):
            kind = self.rng.choice(["CROSS JOIN", "NATURAL JOIN", "LEFT JOIN LATERAL", "SEMI JOIN", "ANTI JOIN"])
        joined = f"{one.text} {kind} {two.text} " + ("USING (patient)" if self.some(0.05) else f"ON {on}")
        return Source(joined, names, (*one.where, *two.where))

    def _beside(self, depth: int) -> Source:
        """Private rows with public ones."""
        private, name = self.source(depth), self.rng.choice(["wards", "regions"])
        public = self._aliased(name, name)
        texts = [n.text for n in private.names if n.kind in ("text", "key")]
        theirs = (
            self.rng.choice(texts)
            if texts and self.some(0.8)
            else f"CAST({self.rng.choice(private.names).text} AS varchar)"
        )
        if self.some(0.15):
            column = public.names[0]
            inner = f"SELECT {column.text} AS code, max({public.names[1].text}) AS m FROM {public.text} GROUP BY 1"
            public = self._query(inner, [("code", "text"), ("m", "wild")])
        on = f"{theirs} = {public.names[0].text}"
        if self.some(0.2):
            on += f" AND {self.say.truth((*private.names, *public.names), depth)}"
        kind = self.say.rare(["JOIN", "JOIN", "LEFT JOIN"], ["RIGHT JOIN", "FULL JOIN"])
        sides = (private, public) if self.some(0.9) else (public, private)
        return Source(f"{sides[0].text} {kind} {sides[1].text} ON {on}", (*private.names, *public.names), private.where)

    # conditions ------------------------------------------------------------------------------------------------------

    def condition(self, source: Source, depth: int) -> str:
        """A condition; some ask another query."""
        if depth <= 0 or self.some(0.6):
            return self.say.truth(source.names, depth)
        other = self.source(depth - 1)
        where = self._where(other, depth - 1)
        inside = f"{where} AND" if where else " WHERE"
        return self.one(
            lambda: f"{source.unit} {self.rng.choice(['IN', 'NOT IN'])} (SELECT {other.unit} FROM {other.text}{where})",
            lambda: (
                f"{self.rng.choice(['', 'NOT '])}EXISTS (SELECT {self.rng.choice(['1', '*', other.unit])} FROM "
                f"{other.text}{inside} {other.unit} = {source.unit})"
            ),
            lambda: f"{self.say.text(source.names, 0)} IN (SELECT ward FROM wards WHERE floor > 0)",
            lambda: f"{self.say.number(source.names, 0)} {self.rng.choice('<>=')} ({self._scalar(depth - 1)})",
            lambda: (
                f"({self.condition(source, depth - 1)} {self.rng.choice(['AND', 'OR'])} "
                f"{self.condition(source, depth - 1)})"
            ),
            lambda: f"NOT ({self.condition(source, depth - 1)})",
        )

    def _across(self, source: Source, other: Source, depth: int) -> str:
        names = (*source.names, *other.names)
        return f" AND {self.say.truth(names, depth - 1)}" if self.some(0.3) else ""

    def _scalar(self, depth: int) -> str:
        """A question with one number."""
        source = self.source(depth)
        return f"SELECT {self.aggregate(source, depth)} FROM {source.text}{self._where(source, depth)}"

    # numbers of many rows, and what to group them by ------------------------------------------------------------------

    def aggregate(self, source: Source, depth: int) -> str:
        """A number of many people's rows."""
        value, what = self.say.bounded(source.names, depth), self.say.any(source.names, depth)
        share = self.say.rare(["0.5", "0", "1", "0.99"], ["2", "-1", "'x'", "NULL", "1e-999"])
        if self.some(self.chaos):
            return self.rng.choice([f"sum(DISTINCT {value})", f"avg({what})", f"sum({what})", f"max({what})"])
        made = self.rng.choice(
            [*SIMPLE, *SIMPLE, f"count({what})", f"count(DISTINCT {source.unit})", f"count(DISTINCT {what})",
             f"sum({value})", f"sum({value})", f"avg({value})", f"variance({value})", f"stddev_pop({value})",
             f"median({value})", f"min({value})", f"max({value})",
             f"percentile_cont({share}) WITHIN GROUP (ORDER BY {value}{self.rng.choice(['', ' DESC'])})"]
        )  # fmt: skip
        if self.some(0.15):
            asks = self.some(0.1)
            made += f" FILTER (WHERE {self.condition(source, depth) if asks else self.say.truth(source.names, depth)})"
        return made

    def key(self, source: Source, depth: int) -> str:
        """Something to group by."""
        return self.one(
            *[lambda: self.say.name(source.names, "key", "text", "flag") or self.say.text(source.names, depth)] * 3,
            lambda: self.say.text(source.names, depth),
            lambda: f"date_trunc('{self.rng.choice(['month', 'year', 'week'])}', {self.say.day(source.names, 0)})",
            lambda: f"extract(month FROM {self.say.day(source.names, depth - 1)})",
            lambda: f"CAST(floor({self.say.number(source.names, depth - 1)} / 10) AS bigint)",
            lambda: f"round({self.say.number(source.names, depth - 1)}, -1)",
            lambda: self.say.truth(source.names, depth),
            lambda: self.say.day(source.names, depth),
        )
