"""Made-up expressions over the columns of a row, most of them of the type that is wanted."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzz import words

TARGET = "9007199254740993"  # whoever is in one home only
NUMBERS = ("real", "whole")  # columns with bounds
LOOSE = ("wild", "serial", "unit")  # numbers without
TEXTS = ("key", "text")


@dataclass(frozen=True)
class Name:
    """A column as a question may write it, and what it holds."""

    text: str
    kind: str  # unit, serial, whole, real, wild, key, text, day, time, flag

    @property
    def bare(self) -> str:
        """Without its source."""
        return self.text.rpartition(".")[2]


Names = Sequence[Name]


class Expressions:
    """A source of expressions. `chaos` is how often one is not what was wanted."""

    def __init__(self, rng: random.Random, chaos: float) -> None:
        self.rng, self.chaos = rng, chaos

    def one(self, *choices: Callable[[], str]) -> str:
        """One of the choices."""
        return self.rng.choice(choices)()

    def some(self, chance: float) -> bool:
        """Whether something rare happens."""
        return self.rng.random() < chance

    def name(self, names: Names, *kinds: str) -> str | None:
        """A column of one of these kinds, if there is one."""
        fitting = [each for each in names if each.kind in kinds]
        if self.some(self.chaos):
            fitting = list(names)
        return self.rng.choice(fitting).text if fitting else None

    def any(self, names: Names, depth: int) -> str:
        """Anything."""
        return self.one(
            lambda: self.number(names, depth),
            lambda: self.text(names, depth),
            lambda: self.day(names, depth),
            lambda: self.truth(names, depth),
            lambda: self.name(names, *(each.kind for each in names)) or "NULL",
        )

    def _strange(self, names: Names, depth: int) -> str:
        inner = self.any(names, depth - 1) if depth > 0 else "1"
        return self.one(
            lambda: f"{self.rng.choice(words.UNKNOWN)}({inner})",
            lambda: f"{self.rng.choice(words.UNKNOWN)}()",
            lambda: f"{self.rng.choice(words.UNKNOWN)}({inner}, {inner})",
            lambda: self.rng.choice(words.NAMES),
            lambda: f"CAST({inner} AS {self.rng.choice(words.ODD_TYPES)})",
            lambda: f"{inner}::{self.rng.choice(words.ODD_TYPES)}",
            lambda: f"({inner}, {inner})",
            lambda: f'{inner} COLLATE "C"',
            lambda: "NULL",
            lambda: "*",
            lambda: f"count({inner})",
            lambda: f"sum({inner}) OVER ()",
            lambda: f"GROUPING({inner})",
            lambda: f"{inner} AT TIME ZONE 'UTC'",
            lambda: f"INTERVAL '1' {self.rng.choice(['DAY', 'MONTH', 'CENTURY', ''])}",
        )

    def _of_target(self, names: Names, value: str, otherwise: str) -> str:
        """What the target's rows alone say: if it fails, it fails where they are."""
        unit = self.name(names, "unit")
        return f"CASE WHEN {unit} = {TARGET} THEN {value} ELSE {otherwise} END" if unit else value

    # numbers ---------------------------------------------------------------------------------------------------------

    def bounded(self, names: Names, depth: int) -> str:
        """A number whose range is known."""
        column = self.name(names, *NUMBERS)
        if column is not None and (depth <= 0 or self.some(0.5)):
            return column
        low, high = self.rng.choice([("0", "10"), ("-5", "5"), ("0", "1000"), ("0.5", "0.75"), ("-1e6", "1e9")])
        inner = self.number(names, depth - 1)
        return self.rng.choice([f"LEAST(GREATEST({inner}, {low}), {high})", f"GREATEST({low}, LEAST({inner}, {high}))"])

    def number(self, names: Names, depth: int) -> str:
        """A number."""
        if self.some(self.chaos):
            return self._strange(names, depth)
        if depth <= 0:
            column = self.name(names, *NUMBERS, *(LOOSE if self.some(0.3) else ()))
            return column if column and self.some(0.8) else self.constant()

        def n() -> str:
            return self.number(names, depth - self.rng.randint(1, 3))

        def t() -> str:
            return self.text(names, depth - 2)

        def d() -> str:
            return self.day(names, depth - 2)

        return self.one(
            lambda: f"({n()} {self.rng.choice('+-*/%')} {n()})",
            lambda: f"({n()} {self.rng.choice('+-*/')} {self.constant()})",
            lambda: f"{self.rng.choice(['abs', 'floor', 'ceil', 'round', 'sqrt', 'exp', 'ln'])}({n()})",
            lambda: (
                f"round({n()}, {self.rare(['0', '2', '-2', '40', '-400', '99999999999'], ['NULL', '1.5', '1e300'])})"
            ),
            lambda: f"power({n()}, {self.rare(['2', '0', '-1', '0.5', '8', '300'], ['NULL', n()])})",
            lambda: f"(- {n()})",
            lambda: f"{self.rng.choice(['least', 'greatest', 'coalesce'])}({n()}, {n()}, {self.constant()})",
            lambda: f"nullif({n()}, {self.constant()})",
            lambda: f"CASE WHEN {self.truth(names, depth - 2)} THEN {n()} ELSE {n()} END",
            lambda: self._of_target(names, n(), n()),
            lambda: f"CASE {t()} WHEN {t()} THEN {n()} WHEN 'north' THEN 1 END",
            lambda: f"length({t()})",
            lambda: f"position({t()} IN {t()})",
            lambda: f"extract({self.rng.choice(['year', 'month', 'dow', 'week', 'doy', 'hour'])} FROM {d()})",
            lambda: f"(CAST({d()} AS date) - CAST({d()} AS date))",
            lambda: (
                f"width_bucket({n()}, 0, {self.rng.choice(['100', '0', '1e30'])}, "
                f"{self.rare(['5', '10', '1'], ['0', '-3', '2147483648'])})"
            ),
            lambda: f"CAST({self.any(names, depth - 2)} AS {self.rng.choice(['bigint', 'double precision', 'int'])})",
            lambda: f"CAST(floor({n()}) AS bigint)",
        )

    def constant(self) -> str:
        """A number that the question itself writes."""
        usual = words.REAL if self.some(0.4) else words.WHOLE[:6] if self.some(0.7) else words.WHOLE
        return self.rare(usual, (*words.ODD_WHOLE, *words.ODD_REAL))

    def rare(self, usual: Sequence[str], odd: Sequence[str]) -> str:
        """One of the usual words, seldom one of the odd."""
        return self.rng.choice(odd if self.some(max(self.chaos, 0.01)) else usual)

    def moment(self) -> str:
        """A date or a timestamp that the question itself writes."""
        return self.rare((*words.DAY, *words.TIME), words.ODD_DAY)

    # text, dates, truths ---------------------------------------------------------------------------------------------

    def text(self, names: Names, depth: int) -> str:
        """A text."""
        if self.some(self.chaos):
            return self._strange(names, depth)
        column = self.name(names, *TEXTS)
        if depth <= 0 or self.some(0.4):
            return column if column and self.some(0.8) else self.rare(words.TEXT, words.ODD_TEXT)

        def t() -> str:
            return self.text(names, depth - 1)

        def n() -> str:
            return self.rng.choice([f"length({t()})", "1", "2", "0", "-1", "4611686018427387903"])

        return self.one(
            lambda: f"{self.rng.choice(['lower', 'upper', 'trim'])}({t()})",
            lambda: f"({t()} || {t()})",
            lambda: f"substring({t()}, {n()}, {n()})",
            lambda: f"substring({t()} FROM {n()})",
            lambda: f"left({t()}, {n()})",
            lambda: f"trim({t()}, {t()})",
            lambda: f"coalesce({t()}, '?')",
            lambda: f"nullif({t()}, {t()})",
            lambda: f"CASE WHEN {self.truth(names, depth - 2)} THEN {t()} ELSE {t()} END",
            lambda: self._of_target(names, t(), t()),
            lambda: f"CAST({self.any(names, depth - 2)} AS varchar)",
        )

    def day(self, names: Names, depth: int) -> str:
        """A date or a timestamp."""
        if self.some(self.chaos):
            return self._strange(names, depth)
        column = self.name(names, "day", "time")
        if depth <= 0 or self.some(0.4):
            return column if column and self.some(0.8) else self.moment()

        def d() -> str:
            return self.day(names, depth - 1)

        units = ["day", "month", "year", "hour", "week", "quarter", "minute"]
        long = self.rng.choice(["1", "3", "0", "-5", "100000", "9999999"])
        return self.one(
            lambda: f"date_trunc('{self.rng.choice(units)}', {d()})",
            lambda: f"({d()} {self.rng.choice('+-')} INTERVAL '{long}' {self.rng.choice(units).upper()})",
            lambda: f"(CAST({d()} AS date) {self.rng.choice('+-')} CAST({self.number(names, depth - 2)} AS bigint))",
            lambda: f"CAST({self.any(names, depth - 2)} AS {self.rng.choice(['date', 'timestamp'])})",
            lambda: f"{self.rng.choice(['least', 'greatest', 'coalesce'])}({d()}, {d()})",
            lambda: self._of_target(names, d(), d()),
            self.moment,
        )

    def truth(self, names: Names, depth: int) -> str:
        """A condition."""
        if self.some(self.chaos):
            return self._strange(names, depth)
        flag = self.name(names, "flag")
        if flag and (depth <= 0 or self.some(0.15)):
            return flag

        def n() -> str:
            return self.number(names, depth - 2)

        def t() -> str:
            return self.text(names, depth - 2)

        compare = self.rng.choice(["=", "<>", "<", "<=", ">", ">=", "!="])

        def b() -> str:
            return self.truth(names, depth - 1) if depth > 0 else flag or "TRUE"

        plain: list[Callable[[], str]] = [
            lambda: f"{n()} {compare} {self.constant()}",
            lambda: f"{n()} {compare} {n()}",
            lambda: f"{t()} {compare} {t()}",
            lambda: f"{self.day(names, depth - 2)} {compare} {self.moment()}",
            lambda: f"{t()} {self.rng.choice(['LIKE', 'NOT LIKE', 'ILIKE'])} {self.rare(words.TEXT, words.ODD_TEXT)}",
            lambda: f"{t()} IN ({', '.join(self.rng.choices(words.TEXT, k=3))})",
            lambda: f"{n()} NOT IN ({self.constant()}, {self.constant()})",
            lambda: f"{n()} BETWEEN {self.constant()} AND {n()}",
            lambda: f"{self.any(names, depth - 2)} IS {self.rng.choice(['NULL', 'NOT NULL'])}",
            lambda: f"({b()}) IS {self.rng.choice(['TRUE', 'NOT FALSE', 'NOT TRUE', 'FALSE'])}",
            lambda: f"{t()} IS DISTINCT FROM {t()}",
            lambda: self.rare(["TRUE", "FALSE"], ["NULL"]),
        ]
        nested: list[Callable[[], str]] = [
            lambda: f"({b()} {self.rng.choice(['AND', 'OR'])} {b()})",
            lambda: f"NOT ({b()})",
            lambda: f"coalesce({b()}, {b()})",
            lambda: f"CASE WHEN {b()} THEN {b()} ELSE {b()} END",
        ]
        return self.one(*plain, *(nested * 2 if depth > 0 else []))
