"""Made-up questions about the hospital: everything follows from a seed.

Most are built as an analyst would build them, from sources whose rows have one owner; a share of each part is not what
belongs there. Some are then mutilated, and some are no SQL at all.
"""

from __future__ import annotations

import random
import re

from fuzz import words
from fuzz.source import Source, Sources


def question(seed: int) -> str:
    """The text of a seed."""
    rng = random.Random(seed)
    if rng.random() < 0.03:
        return words.garbage(rng)
    made = Grammar(rng)
    text = made.question(rng.choice([1, 1, 2, 2, 3, 4]))
    if rng.random() < 0.15:
        text = words.dressed(text, rng)
    if rng.random() < 0.2:
        text = words.mutated(text, rng)
    return text


class Grammar(Sources):
    """Makes questions."""

    def _above(self, source: Source, depth: int) -> str:
        """An aggregate, and something computed from it."""
        first = self.aggregate(source, depth)
        if self.some(0.6):
            return first
        second = self.aggregate(source, depth) if self.some(0.5) else self.say.constant()
        return self.one(
            lambda: f"{first} {self.rng.choice('+-*/%')} {second}",
            lambda: f"round({first} / nullif({second}, 0), 2)",
            lambda: f"CAST({first} AS {self.say.rare(words.TYPES, words.ODD_TYPES)})",
            lambda: f"CASE WHEN {first} > {second} THEN 'many' ELSE 'few' END",
            lambda: f"{self.rng.choice(['rank', 'row_number', 'dense_rank'])}() OVER (ORDER BY {first})",
            lambda: f"sum({first}) OVER ()",
            lambda: f"{self.rng.choice(['sqrt', 'ln', 'exp', 'abs', 'floor'])}({first})",
            lambda: f"power({first}, {second})",
            lambda: f"{first} - ({self._scalar(depth - 1)})",
            lambda: f"substring(CAST({first} AS varchar), {second})",
            lambda: f"DATE '2024-01-01' + CAST({first} AS int)",
        )

    def _grouped(self, depth: int, least: int = 0) -> str:
        source = self.source(depth)
        keys = [self.key(source, depth - 1) for _ in range(max(least, self.rng.choice([0, 0, 1, 1, 1, 2, 3])))]
        values = [self._above(source, depth - 1) for _ in range(self.rng.choice([1, 1, 2, 3] if keys else [1, 2, 4]))]
        labels = [f"k{i}" for i in range(len(keys))] + [f"n{i}" for i in range(len(values))]
        if self.some(self.chaos):
            labels = [self.rng.choice(words.NAMES) for _ in labels]
        items = [f"{text} AS {label}" if least or self.some(0.7) else text
                 for text, label in zip([*keys, *values], labels, strict=True)]  # fmt: skip
        if keys and self.some(0.05):
            items = [f"DISTINCT {', '.join(items)}"]
        by = self._by(keys)
        if keys and self.some(0.4 if re.search("ROLLUP|CUBE|SETS", by) else 0.02):
            items.append(f"GROUPING({keys[0]})")
        text = f"SELECT {', '.join(items)} FROM {source.text}{self._where(source, depth)}{by}"
        if self.some(0.2):
            text += f" HAVING {self.aggregate(source, depth - 1)} {self.rng.choice('<>=')} {self.say.constant()}"
        return text + self._tail(len(items))

    def _by(self, keys: list[str]) -> str:
        if not keys:
            return ""
        listed = ", ".join(keys if self.some(0.6) else map(str, range(1, len(keys) + 1)))
        if self.some(0.8):
            return f" GROUP BY {listed}"
        return " GROUP BY " + self.rng.choice(
            [f"ROLLUP ({listed})", f"CUBE ({listed})", f"GROUPING SETS (({listed}), ())", f"ROLLUP (({listed}))",
             f"GROUPING SETS (({keys[0]}), ({listed}), ROLLUP ({listed}))", f"{keys[0]}, CUBE ({listed})", "ALL"]
        )  # fmt: skip

    def _tail(self, width: int) -> str:
        text = ""
        if self.some(0.3):
            text += f" ORDER BY {self.rng.randint(1, width)}{self.rng.choice(['', ' DESC', ' NULLS FIRST'])}"
        if self.some(0.15):
            most = self.say.rare(["1", "0", "3"], ["-1", "1000000000000", "NULL", "1.5", "(SELECT 1)"])
            text += self.rng.choice(
                [f" LIMIT {most}", f" LIMIT {most} OFFSET 1", " FETCH FIRST 2 ROWS ONLY", " OFFSET 1"]
            )
        return text

    def question(self, depth: int) -> str:
        """A question."""
        text = self.one(
            *[lambda: self._grouped(depth)] * 8,
            lambda: self._noisy(depth),
            lambda: f"SELECT ({self._scalar(depth - 1)}) - ({self._scalar(depth - 1)}) AS d",
            lambda: self._rows(depth) if self.some(0.4) else self._grouped(depth),
            lambda: f"{self._grouped(depth - 1)} UNION ALL {self._grouped(depth - 1)}",
            lambda: f"SELECT {self.rng.choice(['*', 'floor, count(*)', 'sum(beds)'])} FROM wards GROUP BY 1",
        )
        if self.ctes:
            word = "WITH RECURSIVE" if self.some(self.chaos) else "WITH"
            text = f"{word} {', '.join(self.ctes)} {text}"
        return text

    def _noisy(self, depth: int) -> str:
        """What is computed from noisy tables."""
        one, two = (f"({self._grouped(depth - 1, 1)}) {alias}" for alias in ("p", "q"))
        return self.one(
            lambda: f"SELECT * FROM {one}",
            lambda: f"SELECT max(n0), count(*) FROM {one}",
            lambda: f"SELECT p.n0, q.n0 FROM {one} {self.rng.choice(['', 'LEFT ', 'FULL '])}JOIN {two} ON p.k0 = q.k0",
            lambda: f"SELECT p.n0 * q.n0 FROM {one}, {two}",
            lambda: f"SELECT count(*) FROM visits v JOIN {one} ON v.region = p.k0",
            lambda: f"SELECT p.k0, area FROM {one} JOIN regions r ON r.region = p.k0",
        )

    def _rows(self, depth: int) -> str:
        """Rows of people, which nobody gets."""
        source = self.source(depth)
        listed = ", ".join(self.say.any(source.names, 1) for _ in range(2))
        return f"SELECT {self.rng.choice(['*', listed])} FROM {source.text}{self._where(source, depth)}{self._tail(2)}"
