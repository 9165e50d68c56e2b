"""Columns of made-up cells: numbers on and off their grid, texts that are keys or not, days, moments, and nothing."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from fractions import Fraction

from differential.sheet import Field, Value

NAN = float("nan")
FIRST = dt.date(2024, 2, 20)

TEXTS = (
    "north",
    "South",
    "the east",
    "WEST",
    "o'brien",
    'say "hi"',
    "ä-ö",
    "x,y",
    "NULL",
    "n/a",
    " led",
    "50%",
    "a_b",
)


def own(rng: random.Random) -> random.Random:
    """A source for cells: how many there are changes nothing else."""
    return random.Random(rng.random())


def maybe(rng: random.Random, share: float, value: Value) -> Value:
    return None if rng.random() < share else value


# bounds, step, whether the step is said: tiny, usual, wide; sums and squares of the wide ones pass 2^61 and 2^127
_WHOLE: tuple[tuple[int, int, int, bool], ...] = (
    (0, 1, 1, False),
    (0, 100, 1, False),
    (-50, 50, 1, False),
    (18, 19, 1, True),
    (0, 150_000, 1, False),
    (0, 10**15, 1, False),
    (-(4 * 10**15), 4 * 10**15, 1, False),
    (0, 4 * 10**18, 1000, True),
    (10**12, 10**12 + 1000, 1, False),
)
_REAL: tuple[tuple[int | str, int | str, str, bool], ...] = (
    (0, 1, "0.01", False),
    ("0.1", "0.3", "0.1", True),
    (0, 500, "0.01", False),
    (-90, 90, "0.0001", True),
    (0, 150_000, "0.01", False),
    (0, 10**9, "0.01", False),
    (-(10**15), 10**15, "0.5", True),
    (0, "0.000001", "0.0000001", True),
    (0, 10**13, "0.01", False),
)
_DECIMAL = ((0, 100, "0.01", False), (-1000, 1000, "0.01", False), (0, 10**9, "0.01", False), (0, 20, "0.25", True))


def numbers(rng: random.Random, role: str, name: str, number: int, *, wild: bool) -> tuple[Field, list[Value]]:
    """A column of numbers. Tame ones lie on the grid within their bounds; wild ones do not, and some are no numbers."""
    kind = rng.choice(("whole", "real", "decimal"))
    low, high, step, said = rng.choice({"whole": _WHOLE, "real": _REAL, "decimal": _DECIMAL}[kind])
    lowest, highest, grid = (Fraction(str(number)) for number in (low, high, step))
    off_grid = wild and said and kind == "real" and rng.random() < 0.7  # where no step is said, it may be finer
    made = Field(role, name, kind, (lowest, highest), grid, said, on_grid=not off_grid, within=not wild)
    first, last = made.ends
    few = [rng.randint(first, last) for _ in range(rng.choice((3, 40)))] if rng.random() < 0.5 else None
    cells: list[Value] = []
    rng = own(rng)
    for _ in range(number):
        steps = rng.choice(few) if few else rng.randint(first, last)
        if wild and rng.random() < 0.15:
            steps += rng.choice((-1, 1)) * rng.randint(1, 3 * (last - first) + 3)
        cells.append(maybe(rng, 0.1, _cell(rng, made, steps, odd=wild and rng.random() < 0.1)))
    return made, cells


def _cell(rng: random.Random, made: Field, steps: int, *, odd: bool) -> Value:
    exact = steps * made.step
    if made.kind == "whole":
        return rng.choice((2**63 - 1, -(2**63) + 1, 0)) if odd else max(-(2**63) + 1, min(2**63 - 1, int(exact)))
    if made.kind == "decimal":
        return Decimal(exact.numerator) / Decimal(exact.denominator)
    if odd:
        return rng.choice((NAN, NAN, float("inf"), float("-inf"), -0.0, 1e300))
    return float(exact) if made.on_grid else float(exact) + float(made.step) * rng.uniform(-0.49, 0.49)


def keyed(rng: random.Random, role: str, name: str, number: int, source: str) -> tuple[Field, list[Value]]:
    """Texts with declared keys: some keys nobody has, some texts are no key."""
    texts = list(TEXTS) + ([""] if source == "parquet" else [])
    rng.shuffle(texts)
    keys, there = texts[: rng.choice((2, 3, 5))], texts[1 : rng.choice((3, 6, 8))]
    rng = own(rng)
    return Field(role, name, "text", keys=tuple(keys)), [maybe(rng, 0.08, rng.choice(there)) for _ in range(number)]


def codes(rng: random.Random, role: str, name: str, number: int) -> tuple[Field, list[Value]]:
    keys = rng.sample([*range(-3, 8), 10**15], 4)
    there, rng = [*keys[1:], 99], own(rng)
    return Field(role, name, "whole", keys=tuple(keys)), [maybe(rng, 0.08, rng.choice(there)) for _ in range(number)]


def days(given: random.Random, number: int) -> list[Value]:
    rng = own(given)
    far = (dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31), dt.date(2024, 2, 29))
    return [
        maybe(rng, 0.05, rng.choice(far) if rng.random() < 0.03 else FIRST + dt.timedelta(rng.randrange(-5, 30)))
        for _ in range(number)
    ]


def moments(rng: random.Random, number: int) -> list[Value]:
    start = dt.datetime(2024, 2, 20)  # noqa: DTZ001  # a clock on the wall
    fine = rng.random() < 0.3
    rng = own(rng)
    cells: list[Value] = []
    for _ in range(number):
        at = start + dt.timedelta(days=rng.randrange(20), hours=rng.randrange(24), minutes=30 * rng.randrange(2))
        if fine and rng.random() < 0.5:
            at += dt.timedelta(microseconds=rng.randrange(10**6))
        cells.append(maybe(rng, 0.05, at))
    return cells
