"""A tree of blocks: whoever fails, the others' sum is read, with the error that was predicted."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from doubles import Seeded

from discreet.aggregate import Block, DilutedGeometric, TreeMember, TreeSum, agreed, dealt, public_key, read_tree
from discreet.aggregate.curve_group import ORDER
from discreet.errors import Refusal
from discreet.privacy import Approximate, Concentrated

TREE = TreeSum("street", 8, Approximate(8, Fraction(1, 10)), limit=9, epochs=2)
FINE = TreeSum("street", 8, Concentrated(4), limit=9)


def members(task: TreeSum, folder: Path, joined: int) -> tuple[dict[int, TreeMember], dict[Block, int]]:
    """The people who joined so far, with exponents from a dealer for every block that is complete."""
    exponents: dict[Block, int] = {}
    own: dict[int, dict[Block, int]] = {place: {} for place in range(joined)}
    for block in {block for place in range(joined) for block in task.blocks_of(place) if block.people.stop <= joined}:
        exponents[block], *theirs = dealt(block.size)
        for place, exponent in zip(block.people, theirs, strict=True):
            own[place][block] = exponent
    return {place: TreeMember(task, own[place], folder / str(place)) for place in own}, exponents


@pytest.mark.parametrize("task", [TREE, FINE], ids=["geometric", "gaussian"])
@pytest.mark.parametrize(("joined", "failed"), [(8, ()), (8, (3,)), (8, (0, 5, 6)), (6, ()), (7, (2, 6))])
def test_the_sum_over_the_live_is_read(task: TreeSum, joined: int, failed: tuple[int, ...], tmp_path: Path) -> None:
    people, exponents = members(task, tmp_path, joined)
    live = [place for place in people if place not in failed]
    messages = {place: people[place].encrypt(place, 0, rng=Seeded(place)) for place in live}
    found = read_tree(task, 0, exponents, messages)
    noise = Fraction(0)
    drawn = {}
    for place in live:  # the same noise, drawn again
        rng = Seeded(place)
        for block in sorted(people[place].exponents):
            one = task.noise(block.level)
            drawn[place, block] = Fraction(one.number(place, rng=rng), 1 << one.places)
    noise = sum((drawn[place, block] for block in task.cover(live) for place in block.people), Fraction(0))
    assert found == noise
    assert abs(found - sum(live)) < 8 * task.deviation(live)
    with pytest.raises(Refusal, match="already"):
        people[live[0]].encrypt(1, 0)


def test_the_cover_is_the_fewest_blocks_that_hold_the_live_and_nobody_else() -> None:
    blocks = {block for place in range(8) for block in TREE.blocks_of(place)}
    for size in range(9):
        for live in combinations(range(8), size):
            cover = TREE.cover(live)
            assert sorted(place for block in cover for place in block.people) == list(live)
            whole = [block for block in blocks if set(block.people) <= set(live)]
            largest = [one for one in whole if not any(set(one.people) < set(other.people) for other in whole)]
            assert set(cover) == set(largest)


def test_the_price_is_divided_among_the_levels() -> None:
    assert TREE.levels == FINE.levels == 4
    assert {len(TREE.blocks_of(place)) for place in range(8)} == {4}
    assert 4 * TREE.noise(1).privacy == Approximate(8, Fraction(1, 10))
    assert TREE.privacy == Approximate(16, Fraction(1, 5))
    assert FINE.privacy == Concentrated(4, Fraction(4, 2**128))
    few = TreeSum("street", 8, TREE.price, Fraction(1, 3))
    honest = [getattr(few.noise(level), "honest", None) for level in range(4)]
    assert honest == [1, 1, 1, 2]  # of 1, 2, 4, 8; whoever is protected is honest


def test_joins_and_a_dealer_are_no_matter_to_keys_that_are_agreed() -> None:
    keys = [X25519PrivateKey.generate() for _ in range(5)]  # the aggregator, and four people
    public = [public_key(key) for key in keys]
    task = TreeSum("street", 4, Approximate(1, Fraction(1, 10)))
    block = Block(1, 1)
    some = [public[0], *(public[place + 1] for place in block.people)]
    name = task.task(block).name.encode()
    exponents = [agreed(key, some, name) for key in (keys[0], keys[3], keys[4])]
    assert sum(exponents) % (ORDER) == 0


def simulated(task: TreeSum, people: int, failures: int, runs: int, seed: int) -> float:
    """Root of the mean square of the noise of so many sums, by the law of the noise and failures at random."""
    random = np.random.default_rng(seed)
    squares = []
    for _ in range(runs):
        live = np.setdiff1d(np.arange(people), random.choice(people, failures, replace=False))
        total = 0.0
        for block in task.cover(live.tolist()):
            one = task.noise(block.level)
            if isinstance(one, DilutedGeometric):
                draws = random.geometric(1 - math.exp(-1 / float(one.scale)), (2, block.size))
                total += float(((draws[0] - draws[1]) * (random.random(block.size) < float(one.chance))).sum())
            else:
                total += float(random.normal(0, one.deviation))
        squares.append(total**2)
    return math.sqrt(float(np.mean(squares)))


@pytest.mark.parametrize("price", [Approximate(1, Fraction(1, 10**6)), Concentrated(Fraction(1, 50))], ids=str)
@pytest.mark.parametrize("failures", [10, *(pytest.param(many, marks=pytest.mark.slow) for many in (0, 1, 60))])
def test_the_expected_error_is_that_of_simulated_failures(price: Approximate | Concentrated, failures: int) -> None:
    task = TreeSum("street", 256, price)
    assert simulated(task, 200, failures, 400, 3) == pytest.approx(task.expected(200, failures), rel=0.1)


def test_with_nobody_failing_the_expected_error_is_that_of_the_cover() -> None:
    for people in (1, 5, 64, 100, 128):
        task = TreeSum("street", 128, Approximate(1, Fraction(1, 100)))
        assert task.expected(people, 0) == pytest.approx(task.deviation(range(people)))


@pytest.mark.parametrize(("people", "failures", "size"), [(600, 7, 64), (600, 100, 8), (513, 2, 512)])
def test_the_chance_that_a_block_is_whole_is_that_of_binomials(people: int, failures: int, size: int) -> None:
    from discreet.aggregate.tree_of_people import _untouched  # noqa: PLC0415  # a formula of its own

    exactly = Fraction(math.comb(people - size, failures), math.comb(people, failures))
    assert _untouched(people, failures, size) == pytest.approx(float(exactly), rel=1e-9)


def test_what_is_no_tree_is_refused() -> None:
    with pytest.raises(Refusal, match="power of two"):
        TreeSum("street", 12, TREE.price)
    with pytest.raises(Refusal, match="without delta"):
        TreeSum("street", 8, Concentrated(1, Fraction(1, 10)))
    with pytest.raises(Refusal, match="from 0 to 7"):
        TREE.blocks_of(8)
