"""Binary tree of blocks of people: who fails spoils the blocks on the way to the root, and the others are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import comb, sqrt
from pathlib import Path

from discreet.aggregate.diluted_noise import DilutedGeometric, honest_of
from discreet.aggregate.gaussian_shares import GaussianShares
from discreet.aggregate.sent_epochs import Outbox
from discreet.aggregate.small_logarithms import Logarithms, size_for
from discreet.aggregate.stream_sum import Noise, StreamSum, encrypted, opened
from discreet.errors import Refusal
from discreet.exact import count, positive
from discreet.noise import SECURE, Entropy
from discreet.privacy import Approximate, Concentrated

_MOST = 1 << 24  # people


@dataclass(frozen=True, order=True)
class Block:
    """The people from index · 2^level on, 2^level of them."""

    level: int
    index: int

    @property
    def size(self) -> int:
        """How many people."""
        return 1 << self.level

    @property
    def people(self) -> range:
        """Their places."""
        return range(self.index << self.level, (self.index + 1) << self.level)


@dataclass(frozen=True)
class TreeSum:
    """What all who take part agree on: room for `capacity` people, a power of two, who join one after the other.

    Everybody sends one encrypted number for each block that contains them, each with noise of its own, at a part of
    the price; `price` is that of all blocks together. Who joins needs exponents for blocks that are complete now.

    Guarantee: the sums of all blocks together cost a person `price`, if in each of that person's blocks a share of
        `honest` people at least, rounded down, and in any case that person, are honest; computationally, as StreamSum.
    Proof: docs/proofs/aggregate.md, Theorem 5.
    Source: Chan, Shi & Song 2012; with Gaussian noise, the split of zCDP instead of ε.
    """

    name: str
    capacity: int
    price: Approximate | Concentrated
    honest: Fraction = Fraction(1)
    limit: int = 1
    epochs: int = 1

    def __post_init__(self) -> None:
        for name in ("capacity", "limit", "epochs"):
            object.__setattr__(self, name, count(getattr(self, name), name))
        if self.capacity > _MOST or self.capacity & (self.capacity - 1):
            raise Refusal(f"expected a power of two up to 2^24 as capacity, got {self.capacity}")
        honest_of(1, self.honest)
        if isinstance(self.price, Concentrated) and self.price.delta:
            raise Refusal(f"expected a price in rho without delta, got {self.price}")

    @property
    def levels(self) -> int:
        """In how many blocks each person is."""
        return self.capacity.bit_length()

    @property
    def privacy(self) -> Approximate | Concentrated:
        """What all epochs together cost a person who sends in each of them: that of all levels, epoch by epoch."""
        if isinstance(self.price, Approximate):
            return self.epochs * self.price
        return self.epochs * self.levels * Concentrated(self.price.rho / self.levels, self.noise(0).privacy.delta)

    def noise(self, level: int) -> Noise:
        """That of a block: its part of the price."""
        return _noise(self, level)

    def task(self, block: Block) -> StreamSum:
        """The sum over a block."""
        return StreamSum(f"{self.name}\0{block.level}\0{block.index}", self.noise(block.level), self.epochs)

    def blocks_of(self, place: int) -> tuple[Block, ...]:
        """The blocks that contain a person, the smallest first."""
        if not 0 <= place < self.capacity:
            raise Refusal(f"expected a place from 0 to {self.capacity - 1}, got {place}")
        return tuple(Block(level, place >> level) for level in range(self.levels))

    def cover(self, live: Iterable[int]) -> tuple[Block, ...]:
        """The largest blocks in which nobody fails: every one who is live is in one of them."""
        found: list[Block] = []
        whole = {place for place in live if self.blocks_of(place)}
        for level in range(self.levels):
            above = {index >> 1 for index in whole if index ^ 1 in whole}
            found += [Block(level, index) for index in sorted(whole) if index >> 1 not in above]
            whole = above
        return tuple(found)

    def deviation(self, live: Iterable[int]) -> float:
        """Standard deviation of the noise in the sum over these people."""
        return sqrt(sum(self.noise(block.level).deviation ** 2 for block in self.cover(live)))

    def expected(self, people: int, failures: int) -> float:
        """Root of the mean variance of the noise, if so many of the first `people` fail at random."""
        total = 0.0
        for level in range(self.levels):
            size = 1 << level
            alone = (people // size) - 2 * (people // (2 * size))
            inside = 2 * (people // (2 * size))
            whole = _untouched(people, failures, size)
            wider = _untouched(people, failures, 2 * size) if inside else 0.0
            blocks = alone * whole + inside * (whole - wider)
            total += blocks * self.noise(level).deviation ** 2 if blocks else 0.0
        return sqrt(total)


@lru_cache(maxsize=256)
def _noise(task: TreeSum, level: int) -> Noise:
    size = 1 << level
    honest = honest_of(size, task.honest)
    if isinstance(task.price, Approximate):
        part = task.price.epsilon / task.levels, task.price.delta / task.levels
        return DilutedGeometric(*part, size, honest, task.limit)
    return GaussianShares(positive(task.price.rho, "rho") / task.levels, size, honest, task.limit)


def _untouched(people: int, failures: int, size: int) -> float:
    """The chance that none of `size` people is among the failures: C(people − size, failures) / C(people, failures)."""
    if people - size < failures:
        return 0.0
    if people <= 512:
        return comb(people - size, failures) / comb(people, failures)
    few, many = sorted((size, failures))  # the same with the two exchanged; as many factors as the smaller one has
    chance = 1.0
    for k in range(few):
        chance *= 1 - many / (people - k)
        if chance < 1e-18:
            return 0.0
    return chance


@dataclass(frozen=True)
class TreeMember:
    """One person's side: a message for each block with exponents, all in one file of the epoch, written once."""

    task: TreeSum
    exponents: Mapping[Block, int] = field(repr=False)
    folder: Path

    def encrypt(self, value: int, epoch: int, *, rng: Entropy = SECURE) -> dict[Block, bytes]:
        """The value for each block with noise of its own, encrypted: once for each epoch."""
        outbox = Outbox(self.folder)
        outbox.unsent(epoch)
        messages = {}
        for block, exponent in sorted(self.exponents.items()):
            one = self.task.task(block)
            messages[block] = encrypted(one.noise.number(value, rng=rng), one.point(epoch), exponent)
        outbox.keep(epoch, b"".join(messages.values()))
        return messages


def read_tree(
    task: TreeSum, epoch: int, exponents: Mapping[Block, int], messages: Mapping[int, Mapping[Block, bytes]]
) -> Fraction:
    """The sum over everybody whose messages arrived, with its noise: the aggregator's part."""
    total, tables = Fraction(0), dict[int, Logarithms]()
    for block in task.cover(messages):
        one = task.task(block)
        size = size_for(one.span)
        tables.setdefault(size, Logarithms.made(size))
        sent = [messages[place][block] for place in block.people]
        total += opened(one, epoch, exponents[block], sent, tables[size])
    return total
