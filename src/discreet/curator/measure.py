"""Read and randomise: exact statistics in, noisy ones out. Only what leaves here may be recorded or said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol, TypeVar

import numpy as np

from discreet.curator.price import Priced
from discreet.engines import Counted
from discreet.errors import Fault
from discreet.ledger.entry import Plain
from discreet.mechanisms import GaussianKeys, GaussianVector, LaplaceKeys, LaplaceVector, Quantile
from discreet.noise import SECURE, Entropy
from discreet.sql.key import Key, Type, canonical, canonical_groups
from discreet.sql.plan import Measurement, Rank, Statistic

Group = tuple[Key, ...]
V = TypeVar("V")


class Engine(Protocol):
    """What a curator asks of an engine."""

    def counted(self, measurement: Measurement, /) -> Counted:
        """The statistics of the bounded rows."""
        ...

    def distinct(self, measurement: Measurement, statistic: Statistic, /) -> Mapping[Group, int]:
        """For each group, how many values the bounded rows have."""
        ...

    def ranked(self, measurement: Measurement, rank: Rank, /) -> Mapping[Group, Mapping[int, int]]:
        """For each group, how many bounded rows have each value."""
        ...


@dataclass(frozen=True)
class Noisy:
    """A noisy table: its groups in an order that says nothing, and whole numbers for each of them."""

    groups: tuple[Group, ...]
    values: tuple[tuple[int, ...], ...]  # one row a group, one number for each statistic in the measurement's order


def measure(priced: Priced, engine: Engine, *, rng: Entropy = SECURE) -> Noisy:
    """Run every mechanism of a part once. What goes wrong on the way is a constant sentence."""
    try:
        return _measure(priced, engine, rng)
    except Fault:
        raise
    except Exception:  # noqa: BLE001  # whatever it says, it says it about data
        raise Fault from None


def _measure(priced: Priced, engine: Engine, rng: Entropy) -> Noisy:
    measurement = priced.part.measurement
    plain = [s for s in measurement.statistics if isinstance(s, Statistic) and s.kind != "distinct"]
    counts = not measurement.declared or bool(plain)
    counted = engine.counted(measurement) if counts else Counted({}, {})
    counted = Counted(_by_keys(measurement, counted.units), _by_keys(measurement, counted.values))
    groups = _groups(priced, counted, rng)
    columns = [
        _quantiles(priced, statistic, groups, _by_keys(measurement, engine.ranked(measurement, statistic)), rng)
        if isinstance(statistic, Rank)
        else _noised(priced, statistic, _numbers(statistic, groups, counted, measurement, engine), rng)
        for statistic in measurement.statistics
    ]
    return Noisy(groups, tuple(zip(*columns, strict=True)) if columns else tuple(() for _ in groups))


def _by_keys(measurement: Measurement, found: Mapping[Group, V]) -> Mapping[Group, V]:
    """What an engine found, by keys in the form in which they are declared, stored and shown."""
    return canonical_groups(found, _kinds(measurement))


def _kinds(measurement: Measurement) -> list[Type]:
    return [key.expression.type for key in measurement.keys]


def _groups(priced: Priced, counted: Counted, rng: Entropy) -> tuple[Group, ...]:
    measurement = priced.part.measurement
    if measurement.declared:
        return tuple(product(*(key.values for key in measurement.keys if key.values is not None)))
    chosen = priced.charge(None).mechanism
    if not isinstance(chosen, (LaplaceKeys, GaussianKeys)):
        raise Fault
    groups = list(counted.units)  # by their places: what may be a key is decided, and nothing more can be refused
    named = chosen({place: counted.units[group] for place, group in enumerate(groups)}, rng=rng)
    return tuple(sorted((groups[place] for place, _ in named if isinstance(place, int)), key=_order))


def _order(group: Group) -> list[tuple[bool, str, Key]]:
    """By the keys themselves, NULL last: an order that the data has no say in."""
    return [(cell is None, type(cell).__name__, cell if cell is not None else 0) for cell in group]


def _quantiles(
    priced: Priced, rank: Rank, groups: Sequence[Group], found: Mapping[Group, Mapping[int, int]], rng: Entropy
) -> list[int]:
    mechanism = priced.charge(rank).mechanism
    if not isinstance(mechanism, Quantile):
        raise Fault
    return [_quantile(mechanism, rank, found.get(group, {}), rng) for group in groups]


def _numbers(
    statistic: Statistic, groups: Sequence[Group], counted: Counted, measurement: Measurement, engine: Engine
) -> list[int]:
    if statistic.kind == "distinct":
        found = _by_keys(measurement, engine.distinct(measurement, statistic))
        return [found.get(group, 0) for group in groups]
    place = [s for s in measurement.statistics if isinstance(s, Statistic)].index(statistic)
    absent = (0,) * len(measurement.statistics)
    return [counted.values.get(group, absent)[place] for group in groups]


def _noised(priced: Priced, statistic: Statistic, exact: Sequence[int], rng: Entropy) -> list[int]:
    mechanism = priced.charge(statistic).mechanism
    if not isinstance(mechanism, (LaplaceVector, GaussianVector)):
        raise Fault
    return mechanism.exactly(exact, rng=rng)


def _quantile(mechanism: Quantile, rank: Rank, rows: Mapping[int, int], rng: Entropy) -> int:
    steps = np.repeat(np.fromiter(rows.keys(), dtype=np.int64), np.fromiter(rows.values(), dtype=np.int64))
    return int(mechanism(steps * float(rank.grid.step), rng=rng) / rank.grid.step)


def stored(noisy: Noisy) -> Plain:
    """A noisy table as the ledger keeps it."""
    return {
        "groups": [list(group) for group in noisy.groups],
        "values": [[str(value) for value in row] for row in noisy.values],
    }


def restored(body: Plain, measurement: Measurement) -> Noisy:
    """The table that `stored` wrote of a measurement."""
    if not isinstance(body, dict):
        raise Fault
    groups, values = body["groups"], body["values"]
    if not isinstance(groups, list) or not isinstance(values, list):
        raise Fault
    kinds = _kinds(measurement)
    return Noisy(
        tuple(tuple(map(canonical, group, kinds)) for group in groups if isinstance(group, list)),
        tuple(tuple(int(str(value)) for value in row) for row in values if isinstance(row, list)),
    )
