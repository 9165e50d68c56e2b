"""Census blocks from tables whose numbers are off: the list of people that misses them least.

Threat model: as of `discreet.attack.census`, but counts, medians and totals have noise whose size is known. Where no
list of people fits exactly, the likeliest one is that whose misses, each in units of its noise, have the least squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attack.census import OLDEST, Group, Person
from discreet.errors import Ground, Refusal

Floats = NDArray[np.float64]
Block = NDArray[np.int64]  # a row a person: age, then attributes
_MOST = 12  # people


@dataclass(frozen=True)
class Off:
    """How far counts and ages are off: standard deviations of a count, a total and a median."""

    count: float = 0.01  # of exact ones: any miss is a large one
    total: float = 0.01
    median: float = 0.01


def nearest(
    groups: Sequence[Group], attributes: Sequence[str], people: int, off: Off, starts: Sequence[int]
) -> tuple[Person, ...]:
    """The list of so many people, by age, that misses the groups least, of those found from these starts.

    From each start one person changes age or an attribute, or two exchange years or attributes, whatever helps most,
    for as long as anything helps. Nothing proves that the list is the nearest of all.
    """
    if not 1 <= people <= _MOST or not starts:
        raise Refusal(f"expected from 1 to {_MOST} people and a start, got {people}", ground=Ground.VALUE)
    search = _Search(tuple(groups), tuple(attributes), off)
    found = [search.descended(search.start(number, people)) for number in starts]
    _, block = min(found, key=lambda entry: entry[0])
    return tuple(sorted((int(age), *map(bool, held)) for age, *held in block.tolist()))


@dataclass(frozen=True)
class _Search:
    groups: tuple[Group, ...]
    attributes: tuple[str, ...]
    off: Off

    def start(self, number: int, people: int) -> Block:
        """One of many lists that look random, the same for the same number."""
        steps = np.arange(people * (1 + len(self.attributes)), dtype=np.uint64) + np.uint64(1 + 1000 * number)
        mixed = (steps * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
        table = mixed.astype(np.int64).reshape(people, -1)
        return np.column_stack([table[:, :1] % (OLDEST + 1), table[:, 1:] % 2])

    def descended(self, block: Block) -> tuple[float, Block]:
        """Where no change helps any more, and how far that is off."""
        best = float(self.misfit(block[np.newaxis])[0])
        while True:
            others = self._changed(block)
            misses = self.misfit(others)
            at = int(misses.argmin())
            if misses[at] >= best - 1e-9:
                return best, block
            best, block = float(misses[at]), others[at]

    def misfit(self, blocks: Block) -> Floats:
        """Of each list the squares of its misses, in units of the noise."""
        ages = blocks[:, :, 0].astype(np.float64)
        total = np.zeros(len(blocks))
        for group in self.groups:
            inside = np.ones(ages.shape, dtype=np.bool_)
            for name, holds in group.who.items():
                inside &= (blocks[:, :, 1 + self.attributes.index(name)] == 1) == holds
            total += ((inside.sum(axis=1) - group.count) / self.off.count) ** 2
            if group.total is not None:
                total += (((ages * inside).sum(axis=1) - group.total) / self.off.total) ** 2
            if group.median is not None:
                with np.errstate(all="ignore"):
                    middle = np.nan_to_num(_medians(np.where(inside, ages, np.nan)), nan=0.0)
                total += ((middle - group.median) / self.off.median) ** 2
            total += (np.where(inside, np.maximum(group.youngest - ages, 0), 0).sum(axis=1) / self.off.median) ** 2
        return np.asarray(total)

    def _changed(self, block: Block) -> Block:
        """All lists in which one person has another age or one other attribute, or two have exchanged some years."""
        people, made = len(block), []
        for person in range(people):
            older = np.repeat(block[np.newaxis], OLDEST + 1, axis=0)
            older[:, person, 0] = np.arange(OLDEST + 1)
            made.append(older)
            flipped = np.repeat(block[np.newaxis], len(self.attributes), axis=0)
            for place in range(len(self.attributes)):
                flipped[place, person, 1 + place] ^= 1
            made.append(flipped)
            for other in range(people):
                if other == person:
                    continue
                moved = np.repeat(block[np.newaxis], 30, axis=0)
                moved[:, person, 0] += np.arange(1, 31)
                moved[:, other, 0] -= np.arange(1, 31)
                swapped = block[np.newaxis].copy()
                swapped[0, [person, other], 1:] = block[[other, person], 1:]
                made += [moved[(moved[:, :, 0] >= 0).all(axis=1) & (moved[:, :, 0] <= OLDEST).all(axis=1)], swapped]
        return np.concatenate(made)


def _medians(ages: Floats) -> Floats:
    """Of each row, of the numbers in it."""
    ordered, known = np.sort(ages, axis=1), np.count_nonzero(~np.isnan(ages), axis=1)
    rows = np.arange(len(ages))
    low, high = np.maximum((known - 1) // 2, 0), np.minimum(known // 2, ages.shape[1] - 1)
    return np.asarray((ordered[rows, low] + ordered[rows, high]) / 2)
