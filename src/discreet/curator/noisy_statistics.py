"""Noisy statistics: read exactly by an engine, and randomised. Only what leaves here may be recorded or said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol, TypeVar

import numpy as np

from discreet.curator.price import Charge, Priced
from discreet.declared.group_key import Key, Type, canonical, canonical_groups
from discreet.engines import Counted
from discreet.errors import Fault
from discreet.ledger.entry_kinds import Plain
from discreet.mechanisms import GaussianKeys, GaussianVector, LaplaceKeys, LaplaceVector, Quantile
from discreet.mechanisms.quantile import Rows
from discreet.noise import SECURE, Entropy
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
class NoisyGroups:
    """Groups with noisy numbers: in an order that says nothing, whole numbers for each of them."""

    groups: tuple[Group, ...]
    values: tuple[tuple[int, ...], ...]  # a row for each group: its statistics in order, then the ends of its quantiles


def ends_of(price: Priced, noisy: NoisyGroups, row: int, statistic: int) -> tuple[int, int] | None:
    """The interval that was bought with a quantile, in steps; None if it has none, as in answers of version 0.1."""
    known = price.part.measurement.statistics
    bracketed = [i for i, each in enumerate(known) if isinstance(each, Rank) and each.bracketed]
    values = noisy.values[row]
    if statistic not in bracketed or len(values) != len(known) + 2 * len(bracketed):
        return None
    first = len(known) + 2 * bracketed.index(statistic)
    return values[first], values[first + 1]


def measure(priced: Priced, engine: Engine, *, rng: Entropy = SECURE) -> NoisyGroups:
    """Run every mechanism of a part once. What goes wrong on the way is a constant sentence."""
    try:
        return _measure(priced, engine, rng)
    except Fault:
        raise
    except Exception:  # noqa: BLE001  # whatever it says, it says it about data
        raise Fault from None


def _measure(priced: Priced, engine: Engine, rng: Entropy) -> NoisyGroups:
    measurement = priced.part.measurement
    plain = [s for s in measurement.statistics if isinstance(s, Statistic) and s.kind != "distinct"]
    counts = not measurement.declared or bool(plain)
    counted = engine.counted(measurement) if counts else Counted({}, {})
    counted = Counted(_by_keys(measurement, counted.units), _by_keys(measurement, counted.values))
    groups = _groups(priced, counted, rng)
    columns: list[list[int]] = []
    ends: list[list[int]] = []
    for statistic in measurement.statistics:
        if isinstance(statistic, Rank):
            rows = _by_keys(measurement, engine.ranked(measurement, statistic))
            quantiles, *both = _quantiles(priced, statistic, groups, rows, rng)
            columns.append(quantiles)
            ends += both
        else:
            columns.append(_noised(priced, statistic, _numbers(statistic, groups, counted, measurement, engine), rng))
    return NoisyGroups(groups, tuple(zip(*columns, *ends, strict=True)) if columns else tuple(() for _ in groups))


def _by_keys(measurement: Measurement, by_group: Mapping[Group, V]) -> Mapping[Group, V]:
    """What an engine found, by keys in the form in which they are declared, stored and shown."""
    return canonical_groups(by_group, _kinds(measurement))


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
    priced: Priced, rank: Rank, groups: Sequence[Group], counts: Mapping[Group, Mapping[int, int]], rng: Entropy
) -> list[list[int]]:
    """A quantile for each group; and where they were bought, the lower and the upper ends of their intervals."""
    charge = priced.charge(rank)
    if not isinstance(charge.mechanism, Quantile):
        raise Fault
    rows = [_quantile(charge, charge.mechanism, counts.get(group, {}), rng) for group in groups]
    return [list(column) for column in zip(*rows, strict=True)] or [[]] * (3 if rank.bracketed else 1)


def _numbers(
    statistic: Statistic, groups: Sequence[Group], counted: Counted, measurement: Measurement, engine: Engine
) -> list[int]:
    if statistic.kind == "distinct":
        numbers = _by_keys(measurement, engine.distinct(measurement, statistic))
        return [numbers.get(group, 0) for group in groups]
    place = [s for s in measurement.statistics if isinstance(s, Statistic)].index(statistic)
    absent = (0,) * len(measurement.statistics)
    return [counted.values.get(group, absent)[place] for group in groups]


def _noised(priced: Priced, statistic: Statistic, exact: Sequence[int], rng: Entropy) -> list[int]:
    mechanism = priced.charge(statistic).mechanism
    if not isinstance(mechanism, (LaplaceVector, GaussianVector)):
        raise Fault
    return mechanism.exactly(exact, rng=rng)


def _quantile(charge: Charge, mechanism: Quantile, rows: Mapping[int, int], rng: Entropy) -> list[int]:
    values = np.fromiter(rows.keys(), dtype=np.int64)
    steps = np.sort(np.repeat(values, np.fromiter(rows.values(), dtype=np.int64)))
    grid = mechanism.grid
    held = np.clip(steps, grid.low, grid.high)
    point = Rows.of(held, grid.low, grid.high).quantile(mechanism.level, mechanism.rate, rng=rng)
    return [point, *(end.chosen(held, rng=rng) for end in charge.ends(grid.value(point)))]


def stored(noisy: NoisyGroups) -> Plain:
    """A noisy table as the ledger keeps it."""
    return {
        "groups": [list(group) for group in noisy.groups],
        "values": [[str(value) for value in row] for row in noisy.values],
    }


def restored(body: Plain, measurement: Measurement) -> NoisyGroups:
    """The table that `stored` wrote of a measurement."""
    if not isinstance(body, dict):
        raise Fault
    groups, values = body["groups"], body["values"]
    if not isinstance(groups, list) or not isinstance(values, list):
        raise Fault
    kinds = _kinds(measurement)
    return NoisyGroups(
        tuple(tuple(map(canonical, group, kinds)) for group in groups if isinstance(group, list)),
        tuple(tuple(int(str(value)) for value in row) for row in values if isinstance(row, list)),
    )
