"""What every relation must obey, whatever holds its rows: one suite, inherited by `Frame` and the engines' own.

The reference is plain Python over the rows that were put in. Where a cap binds, it is what the relation itself says
that it kept, which is held to be some of each unit's own rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import pytest
from covering import Coverage
from doubles import Prefixed, Seeded
from mechanisms.chances import fits

from discreet.errors import Refusal
from discreet.mechanisms import Caps, Grid, Relation

Row = tuple[Any, ...]  # who, place, size, cost, wide

PLACES: tuple[str | None, ...] = ("north", "south", None)
SIZES = (1, 2, 5)
COST = Grid(-100, 900, Fraction(1, 4))
FAR = (1 << 53) - 1
WIDE = Grid(-FAR, FAR, 1)
BELOW, ABOVE = COST.low - 10**9, COST.high + 10**9

ORDINARY: list[Row] = [(i % 12, PLACES[i % 3], SIZES[i * 7 % 3], (i * 37 % 500) / 4, i) for i in range(40)]
STRANGE: list[Row] = [
    (50, "elsewhere", 2, 10.0, 1),
    (51, "north", 3, 20.0, 2),
    (52, None, None, 30.0, 3),
    (53, "south", 1, None, 4),
    (54, "south", 1, math.nan, 5),
    (55, "north", 5, math.inf, None),
    (56, "north", 5, -math.inf, 6),
    (57, "north", 5, 1e300, 7),
    (58, "south", 1, -100.25, -8),
    (59, "south", 1, -0.0, 9),
    (None, "north", 1, 40.0, 10),
]
WIDEST: list[Row] = [(i, "north", 1, 0.0, FAR if i % 3 else -FAR) for i in range(1200)]
HEAVY: list[Row] = [(99, PLACES[i % 3], SIZES[i % 3], float(i), i) for i in range(30)]


def steps(value: Any, grid: Grid) -> int | None:  # noqa: ANN401
    """A number in steps, half a step upwards, by rationals; None of what is no number."""
    if unknown(value):
        return None
    if value in (math.inf, -math.inf):
        return grid.high if value > 0 else grid.low
    return max(grid.low, min(grid.high, math.floor(Fraction(value) / grid.step + Fraction(1, 2))))


def matrices(rows: Iterable[Row], by: Sequence[str], columns: Sequence[str]) -> dict[tuple[int, ...], list[list[int]]]:
    """The matrix of each combination of keys, by its definition."""
    keys: dict[str, tuple[int, tuple[Any, ...]]] = {"place": (1, PLACES), "size": (2, SIZES)}
    numbers = {"cost": (3, COST), "wide": (4, WIDE)}
    side = len(columns) + 1
    found: dict[tuple[int, ...], list[list[int]]] = defaultdict(lambda: [[0] * side for _ in range(side)])
    for row in rows:
        if any(row[keys[name][0]] not in keys[name][1] for name in by):
            continue
        cell = tuple(keys[name][1].index(row[keys[name][0]]) for name in by)
        vector = [1, *(steps(row[numbers[name][0]], numbers[name][1]) for name in columns)]
        if None in vector:
            continue
        for i, j in product(range(side), repeat=2):
            found[cell][i][j] += (vector[i] or 0) * (vector[j] or 0)
    return found


def coded(rows: Iterable[Row]) -> Counter[Row]:
    """Rows as batches have them."""
    return Counter(
        (
            PLACES.index(place) if place in PLACES else -1,
            SIZES.index(size) if size in SIZES else -1,
            steps(cost, COST),
            steps(wide, WIDE),
        )
        for _, place, size, cost, wide in rows
    )


def batched(relation: Relation, size: int = 7, **how: Any) -> list[Row]:  # noqa: ANN401
    """The rows of all batches, in their order."""
    names = ("place", "size", "cost", "wide")
    return [tuple(row[name] for name in names) for batch in relation.batches(size, **how) for row in batch.to_pylist()]


def unknown(value: object) -> bool:
    """Whether a cell is missing."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def alike(one: Row, two: Row) -> bool:
    return all(a == b or (unknown(a) and unknown(b)) for a, b in zip(one, two, strict=True))


class Contract(ABC):
    """The suite. A class that inherits it says how a relation is made of rows."""

    @abstractmethod
    def made(self, rows: Sequence[Row], max_rows: int) -> Relation:
        """A relation of these rows: columns who, place by PLACES, size by SIZES, cost on COST and wide on WIDE."""

    @pytest.mark.parametrize(
        "rows", [ORDINARY, STRANGE, ORDINARY + STRANGE, []], ids=["plain", "strange", "both", "no"]
    )
    @pytest.mark.parametrize("by", [[], ["place"], ["size", "place"]], ids=["all", "place", "both"])
    def test_products_are_those_of_a_loop(self, rows: list[Row], by: list[str]) -> None:
        relation, owned = self.made(rows, 50), [row for row in rows if row[0] is not None]
        for columns in ([], ["cost"], ["cost", "wide"], ["wide", "wide"]):
            wanted = matrices(owned, by, columns)
            products = relation.products(by, columns)
            shape = [{"place": len(PLACES), "size": len(SIZES)}[name] for name in by]
            assert products.shape == (*shape, len(columns) + 1, len(columns) + 1)
            for cell in product(*map(range, shape)):
                assert products[cell].tolist() == wanted[cell]
            assert all(type(number) is int for number in products.ravel())

    def test_wide_numbers_are_added_up_exactly(self) -> None:
        relation, wanted = self.made(WIDEST, 1), matrices(WIDEST, [], ["wide", "cost"])[()]
        assert relation.products([], ["wide", "cost"]).tolist() == wanted
        assert wanted[1][1] > 1 << 115
        one_sided = [(i, "north", 1, 0.0, sign * FAR) for sign in (1, -1) for i in range(1200)]
        plus, minus = (self.made(rows, 1).products([], ["wide"])[0, 1] for rows in (one_sided[:1200], one_sided[1200:]))
        assert plus == -minus == 1200 * FAR > 1 << 63

    def test_counts_sums_and_products_are_of_the_same_kept_rows(self) -> None:
        relation = self.made([*ORDINARY, *HEAVY], 4)
        kept: list[Row] = list(relation.rows())
        assert Counter(row[0] for row in kept)[99] == 4
        assert max(Counter(row[0] for row in kept).values()) == 4
        assert all(any(alike(row, given) for given in [*ORDINARY, *HEAVY]) for row in kept)
        wanted = matrices(kept, ["place"], ["cost"])
        products, counts = relation.products(["place"], ["cost"]), relation.counts(["place"])
        sums = relation.sums(["place"], ["cost"])
        for i in range(len(PLACES)):
            assert products[i].tolist() == wanted[(i,)]
            assert (counts[i], sums[i, 0]) == (wanted[(i,)][0][0], wanted[(i,)][0][1])
        assert Counter(batched(relation)) == coded(kept)
        assert relation.quantile_counts("cost", [COST.low]).tolist() == [0, len(kept)]

    def test_missing_numbers_are_nowhere(self) -> None:
        relation, rows = self.made(STRANGE, 1), [row for row in STRANGE if row[0] is not None]
        known = [at for row in rows if (at := steps(row[3], COST)) is not None]
        assert relation.sums([], ["cost"]).tolist() == [sum(known)]
        assert relation.quantile_counts("cost", [0]).tolist() == [
            sum(at < 0 for at in known),
            sum(at >= 0 for at in known),
        ]
        assert relation.products([], ["cost"])[0, 0] == len(known) == len(rows) - 2
        assert relation.products([], ["cost", "wide"])[0, 0] == len(known) - 1  # the row without its other number too
        assert Counter(batched(relation)) == coded(rows)

    def test_one_unit_moves_products_no_further_than_is_said(self) -> None:
        """By adding the worst unit there is, and by replacing it with one that is elsewhere."""
        reach, cap = [1, COST.reach, WIDE.reach], 4  # of the others nobody has more rows
        most = cap * sum(reach[i] * reach[j] for i in range(3) for j in range(i, 3))
        squared = cap**2 * sum((reach[i] * reach[j]) ** 2 for i in range(3) for j in range(i, 3))
        high: list[Row] = [(99, "north", 1, 1e9, FAR)] * 9
        low: list[Row] = [(99, "south", 1, 1e9, FAR)] * 9
        none, up, down = (
            self.made([*ORDINARY, *own], cap).products(["place"], ["cost", "wide"]) for own in ([], high, low)
        )
        upper = np.triu_indices(3)

        def moved(one: Any, two: Any) -> tuple[int, int]:  # noqa: ANN401
            each = (one - two)[:, upper[0], upper[1]].ravel().tolist()
            return sum(map(abs, each)), sum(x * x for x in each)

        assert COST.reach == COST.high
        assert moved(up, none) == (most, squared)
        assert moved(up, down) == (2 * most, 2 * squared)  # in two matrices, so less than four times

    def test_batches_have_all_rows_so_many_at_once(self) -> None:
        relation, rows = (
            self.made([*ORDINARY, *STRANGE], 50),
            [row for row in [*ORDINARY, *STRANGE] if row[0] is not None],
        )
        for size in (1, 7, len(rows), 10**6):
            batches = list(relation.batches(size))
            sizes = [batch.num_rows for batch in batches]
            assert sizes[:-1] == [size] * (len(sizes) - 1)
            assert sum(sizes) == len(rows)
            assert {str(field.type) for batch in batches for field in batch.schema} == {"int32", "int64"}
            assert batches[0].schema.names == ["place", "size", "cost", "wide"]
        assert Counter(batched(relation)) == coded(rows)
        assert list(self.made([], 1).batches(5)) == []

    def test_the_order_of_batches_is_the_sources_and_fresh(self) -> None:
        """Every order of three rows is as likely as any (`fits`: 1e-9), and none of them is the engine's."""
        relation = self.made([(i, "north", 1, float(i), i) for i in range(3)], 1)
        seen: list[Row] = [tuple(row[3] for row in batched(relation, 2)) for _ in range(90)]
        orders: list[Row] = list(permutations(range(3)))
        assert fits(seen, dict.fromkeys(orders, 1 / 6))
        assert not fits(seen, {order: 1.0 if order == (0, 1, 2) else 1e-12 for order in orders})
        crowd = self.made([(i, "north", 1, 0.0, i) for i in range(200)], 1)
        assert batched(crowd) != batched(crowd)  # 200! orders
        assert batched(crowd, rng=Seeded(3)) == batched(crowd, rng=Seeded(3)) != batched(crowd, rng=Seeded(4))

    def test_rows_that_draw_the_same_key_are_in_no_order_of_the_engines(self) -> None:
        """All of 64 bits alike, which chance would hardly ever do: then a permutation decides, as it says by itself."""
        relation = self.made([(i, "north", 1, 0.0, i) for i in range(6)], 1)
        same = bytes(48)
        orders = {tuple(row[3] for row in batched(relation, rng=Prefixed(same, Seeded(seed)))) for seed in range(20)}
        assert len(orders) > 12  # of 720; in an order of the engine's there would be one
        assert all(sorted(order) == list(range(6)) for order in orders)

    def test_a_sample_has_all_rows_of_a_unit_or_none(self) -> None:
        relation = self.made([*ORDINARY, *STRANGE], 50)
        rows = [row for row in [*ORDINARY, *STRANGE] if row[0] is not None]
        for seed in range(6):
            sample = relation.sample(Fraction(1, 2), rng=Seeded(seed))
            who = {row[0] for row in sample.rows()}
            inside = [row for row in rows if row[0] in who]
            assert Counter(batched(sample)) == coded(inside)
            assert sample.counts(["size"]).tolist() == [sum(row[2] == size for row in inside) for size in SIZES]
            assert sample.products([], ["cost"]).tolist() == matrices(inside, [], ["cost"])[()]
            assert (sample.caps, sample.neighbours, sample.schema) == (
                relation.caps,
                relation.neighbours,
                relation.schema,
            )
        assert list(relation.sample(0).rows()) == []
        assert Counter(batched(relation.sample(1))) == coded(rows)
        assert relation.counts([]) == len(rows)  # the relation itself stays as it was

    def test_two_parts_have_every_unit_once_and_all_of_its_rows(self) -> None:
        rows: list[Row] = [(i // 3, PLACES[i % 2], 1, float(i), i) for i in range(90)]
        relation = self.made(rows, 3)
        one, two = relation.split(Fraction(1, 3))
        first, second = ({row[0] for row in part.rows()} for part in (one, two))
        assert not first & second
        assert first | second == set(range(30))
        assert 0 < len(first) < 30  # but for a chance of 10^-5
        assert Counter(batched(one)) + Counter(batched(two)) == coded(rows)
        assert one.counts([]) + two.counts([]) == relation.counts([]) == 90
        assert (two.caps, two.neighbours, two.schema) == (relation.caps, relation.neighbours, relation.schema)
        assert [int(part.counts([])) for part in relation.split(1)] == [90, 0]

    def test_the_size_of_a_sample_follows_its_binomial_law(self) -> None:
        """Exact tails, false alarm 1e-9, over the coins of several draws; a rate half as large again is refuted."""
        units, draws, rate = 700, 5, Fraction(1, 7)
        relation = self.made([(i, "north", 1, 0.0, i) for i in range(units)], 1)
        members = [{row[0] for row in relation.sample(rate).rows()} for _ in range(draws)]
        taken = Coverage(sum(map(len, members)), units * draws)
        assert not taken.refuted(rate, 5e-10)
        assert not taken.exceeded(rate, 5e-10)
        assert taken.refuted(rate * Fraction(3, 2))
        assert taken.exceeded(rate * Fraction(1, 2))
        both = Coverage(sum(len(one & two) for one, two in pairwise(members)), units * (draws - 1))
        assert not both.refuted(rate**2, 5e-10)  # fresh coins: a unit is in two samples by chance alone
        assert not both.exceeded(rate**2, 5e-10)
        twice = Coverage(int(relation.sample(rate).sample(Fraction(1, 2)).counts([])), units)
        assert not twice.refuted(rate / 2, 5e-10)
        assert not twice.exceeded(rate / 2, 5e-10)

    @pytest.mark.parametrize("own", [1, 25])
    def test_what_a_unit_says_decides_about_no_other(self, own: int) -> None:
        """However many rows a unit has it takes one coin; coins of two units agree half of the time (1e-9)."""
        others: list[Row] = [(i, "north", 1, float(i), i) for i in range(30)]
        relation = self.made([*others, *[(30, "south", 1, float(i), i) for i in range(own)]], 4)
        draws = [{row[0] for row in relation.sample(Fraction(1, 2)).rows()} for _ in range(40)]
        taken = Coverage(sum(len(who - {30}) for who in draws), 30 * len(draws))
        pairs = Coverage(sum((i in who) == (i + 1 in who) for who in draws for i in range(0, 30, 2)), 15 * len(draws))
        heavy = Coverage(sum(30 in who for who in draws), len(draws))
        beside = Coverage(sum((30 in who) == (29 in who) for who in draws), len(draws))
        for told in (taken, pairs, heavy, beside):
            assert not told.refuted(0.5, 1e-10)
            assert not told.exceeded(0.5, 1e-10)
        assert pairs.refuted(0.75)

    @pytest.mark.parametrize(
        ("ask", "words"),
        [
            (lambda r: r.products([], ["who"]), "has no declared bounds"),
            (lambda r: r.products(["cost"], []), "has no declared keys"),
            (lambda r: r.products([], ["nowhere"]), "there is no column"),
            (lambda r: r.products(["place"], ["cost"] * 2000), "more than"),
            (lambda r: r.batches(0), "size >= 1"),
            (lambda r: r.sample(Fraction(3, 2)), "0 <= rate <= 1, got rate="),
            (lambda r: r.sample(float("nan")), "rate"),
        ],
    )
    def test_nonsense_is_refused_before_a_row_is_read(self, ask: Callable[[Relation], object], words: str) -> None:
        with pytest.raises(Refusal, match=words):
            ask(self.made(ORDINARY, 2))

    def test_caps_are_known(self) -> None:
        assert self.made(ORDINARY, 3).caps == Caps(3)
