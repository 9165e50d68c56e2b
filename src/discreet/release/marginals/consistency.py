"""Consistent tables: from residuals through corner sums, and near ones without negative cells, or whole.

Residuals are real. Rounding the cells of each table by itself would make two tables disagree on what they share. So
what is rounded are *corner sums*: for each set B of columns the sums of its table over all cells up to a corner, where
no column is at its last key. A column at its last key is summed whole, which is a corner sum of fewer columns. Every
cell of every table is then a sum of corner sums with signs, and two tables that share columns share those sums: they
agree in whole numbers, whatever the rounding was. A cell of a k-way table has 2^k corners, each wrong by half a step.

The full table is never built, so what is asked is that the *measured* tables are not negative and agree. A linear
programme over the full table (Barak et al. 2007) asks for more, and is as large as the product of all sizes.

Plain least squares would raise the total by many of its standard deviations: it pays with one number for lifting
thousands of cells that noise made negative. So the total is held, and small tables come before large ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from discreet.declared.grid import LIMIT
from discreet.release.marginals.domain import Axes, Domain, maximal, subsets
from discreet.release.marginals.plan import Integers, Reals

T = TypeVar("T", Reals, Integers)

_FIRST = 10.0  # how many times more a residual counts for each column that it has less: docs/proofs/residual.md
_STILL = 1e-7  # of a standard deviation of the residual: nothing moves any more
_OWN = (0.0, 0.3, 0.6, 0.9)  # how much independent columns may have of their own counts: the best of these is mixed in


def table(domain: Domain, residuals: Mapping[Axes, Reals], axes: Axes) -> Reals:
    """μ_A = Σ_B r_B · N_B/N_A over all B ⊆ A, for columns in which something can vary."""
    total, cells = np.zeros(domain.shape(axes)), domain.cells(axes)
    for part in subsets(axes):
        spread = tuple(domain.sizes[i] if i in part else 1 for i in axes)
        total += residuals[part].reshape(spread) * (domain.cells(part) / cells)
    return total


def residual(domain: Domain, given: Reals, axes: Axes, part: Axes) -> Reals:
    """The residual of B that a table on A ⊇ B has: summed over the other columns, centred along its own."""
    rest = given.sum(tuple(axis for axis, i in enumerate(axes) if i not in part))
    for axis in range(len(part)):
        rest = rest - rest.mean(axis, keepdims=True)
    shaped: Reals = rest.reshape(domain.shape(part))
    return shaped


def corners(given: Reals, bits: int) -> Integers:
    """The corner sums of a table, rounded to multiples of 2^−bits and counted in them."""
    sums = _summed(given)
    return np.clip(np.rint(sums * 2.0**bits), -LIMIT, LIMIT).astype(np.int64)


def whole_corners(given: Integers) -> Integers:
    """The corner sums of a table in whole steps, as they are."""
    return _summed(given)


def _summed(given: T) -> T:
    for axis in range(given.ndim):
        given = given.cumsum(axis)
        given = given.take(range(given.shape[axis] - 1), axis)
    return given


def cells(domain: Domain, sums: Mapping[Axes, Integers], axes: Axes) -> Integers:
    """The table of some columns from the corner sums of all its sub-tables."""
    given = np.zeros(domain.shape(axes), dtype=np.int64)
    for part in subsets(axes):
        given[tuple(slice(-1) if i in part else -1 for i in axes)] = sums[part]
    for axis in range(given.ndim):
        given = np.diff(given, axis=axis, prepend=np.int64(0))
    return given


# without negative cells -----------------------------------------------------------------------------------------------


def fitted(
    domain: Domain, residuals: Mapping[Axes, Reals], spreads: Mapping[Axes, float], rounds: int
) -> dict[Axes, Reals]:
    """Residuals r that come near the least Σ_B p_B |r_B − r̂_B|² with no negative cell in a table, the total held.

    p_B is the precision 1/s_B, times 10 for each column by which B is smaller than the largest table. Each round
    solves for r with the tables held (residuals do not mix, so that is a division), then clips the tables and
    remembers what was clipped (Boyd et al. 2011, section 3.1).
    """
    largest, deepest = maximal(residuals), max(map(len, residuals))
    tight = {part: _FIRST ** (deepest - len(part)) / max(spread, 1e-12) for part, spread in spreads.items()}
    start = {**residuals, (): np.maximum(residuals[()], 0)}
    pulls = {axes: tight[axes] for axes in largest}
    tables = {axes: np.maximum(table(domain, start, axes), 0) for axes in largest}
    debts = {axes: np.zeros(domain.shape(axes)) for axes in largest}
    now = start
    for _ in range(rounds):
        wanted = {axes: tables[axes] - debts[axes] for axes in largest}
        now = {**_solved(domain, start, tight, pulls, wanted), (): start[()]}
        gap = 0.0
        for axes in largest:
            seen = table(domain, now, axes)
            tables[axes] = np.maximum(seen + debts[axes], 0)
            debts[axes] = debts[axes] + seen - tables[axes]
            gap = max(gap, float(np.max(np.abs(seen - tables[axes]))) * pulls[axes] ** 0.5)
        if gap <= _STILL:
            break
    return now


def _solved(
    domain: Domain,
    start: Mapping[Axes, Reals],
    tight: Mapping[Axes, float],
    pulls: Mapping[Axes, float],
    wanted: Mapping[Axes, Reals],
) -> dict[Axes, Reals]:
    """argmin Σ_B p_B |r_B − r̂_B|² + Σ_A η_A |μ_A(r) − wanted_A|², residual by residual."""
    tops = {part: own * tight[part] for part, own in start.items()}
    bottoms = dict(tight)
    for axes, table in wanted.items():
        for part in subsets(axes):
            load = pulls[axes] * domain.cells(part) / domain.cells(axes)
            tops[part] = tops[part] + load * residual(domain, table, axes, part)
            bottoms[part] += load
    return {part: top / bottoms[part] for part, top in tops.items()}


# whole ----------------------------------------------------------------------------------------------------------------


def can_be_whole(tables: Sequence[Axes]) -> bool:
    """Whether whole tables that agree always exist near real ones: in pairs of columns, or in a tree of tables."""
    return max(map(len, tables)) <= 2 or tree(tables) is not None


def tree(tables: Sequence[Axes]) -> list[tuple[Axes, Axes]] | None:
    """The tables in an order in which each meets all earlier ones within one of them, with where it meets; or None.

    The largest intersections first give such an order if there is one (Bernstein & Goodman 1981).
    """
    left, done, order = set(tables), list[Axes](), list[tuple[Axes, Axes]]()
    while left:
        pairs = [(len(set(axes) & set(other)), axes) for axes in sorted(left) for other in done or [()]]
        axes = max(pairs, key=lambda pair: (pair[0], len(pair[1]), pair[1]))[1]
        met = {i for other in done for i in other} & set(axes)
        if not any(met <= set(other) for other in done or [()]):
            return None
        order.append((axes, tuple(sorted(met))))
        done.append(axes)
        left.remove(axes)
    return order


def settled(domain: Domain, near: Mapping[Axes, Reals], bits: int) -> dict[Axes, Integers]:
    """Tables for all largest sets, in whole steps of 2^−bits, not negative, that agree on what they share."""
    tables = maximal(near)
    order = tree(tables)
    if order is not None:
        return _along(order, near, bits)
    if max(map(len, tables)) <= 2:
        return _in_pairs(domain, near, bits)
    return _mixed(domain, near, bits)


def _along(order: list[tuple[Axes, Axes]], near: Mapping[Axes, Reals], bits: int) -> dict[Axes, Integers]:
    """Each table within what an earlier one gave to the columns they share: slice by slice, running sums rounded."""
    done: dict[Axes, Integers] = {}
    for axes, shared in order:
        parent = next((other for other in done if set(shared) <= set(other)), None)
        if parent is None:  # the first table
            target = _total(near, bits).reshape((1,) * len(shared))
        else:
            target = done[parent].sum(tuple(axis for axis, i in enumerate(parent) if i not in shared), dtype=np.int64)
        front = [axes.index(i) for i in shared]
        rest = [axis for axis in range(len(axes)) if axis not in front]
        moved = near[axes].transpose([*front, *rest])
        rows = _apportioned(moved.reshape(target.size, -1), target.ravel())
        done[axes] = rows.reshape(moved.shape).transpose(np.argsort([*front, *rest]))
    return done


def _total(near: Mapping[Axes, Reals], bits: int) -> Integers:
    return np.array(max(0, round(float(near[()]) * 2**bits)), dtype=np.int64)


def _apportioned(rows: Reals, targets: Integers) -> Integers:
    """Whole numbers in proportion to each row, not negative, that add up to its target; each within one of its share.

    Running sums rise, so their rounded values do, and a share of nothing gets nothing.
    """
    parts = np.maximum(rows, 0)
    sums = parts.sum(1, keepdims=True)
    parts = np.where(sums > 0, parts / np.where(sums > 0, sums, 1), 1 / rows.shape[1])
    running = np.rint(np.minimum(parts.cumsum(1), 1) * targets[:, None]).astype(np.int64)
    running[:, -1] = targets
    steps: Integers = np.diff(np.minimum(running, targets[:, None]), axis=1, prepend=np.int64(0))
    return steps


def _in_pairs(domain: Domain, near: Mapping[Axes, Reals], bits: int) -> dict[Axes, Integers]:
    """One column at a time first, then each pair of columns within those: such a table always exists."""
    total = _total(near, bits).reshape(1)
    ones: dict[Axes, Integers] = {
        axes: _apportioned(near[axes].reshape(1, -1), total)[0] for axes in near if len(axes) == 1
    }
    tables: dict[Axes, Integers] = {}
    for axes in maximal(near):
        if len(axes) == 2:
            scaled = np.maximum(near[axes], 0) * 2.0**bits
            tables[axes] = _within(scaled, ones[axes[:1]], ones[axes[1:]])
        else:
            tables[axes] = ones[axes].reshape(domain.shape(axes))
    return tables


def _within(given: Reals, rows: Integers, columns: Integers) -> Integers:
    """A whole table with these sums of rows and columns, near a real one that is not negative.

    First a real table with these sums (Altschuler, Weed & Rigollet 2017, Algorithm 2); then its whole part; then a step
    more in the cells with the largest rest where row and column lack one; what is still lacking goes wherever both
    lack: rows and columns lack the same in all, so that ends.
    """
    real = _transported(given, rows.astype(np.float64), columns.astype(np.float64))
    whole = np.floor(real).astype(np.int64)
    lack_r, lack_c = _trimmed(whole, rows, columns)
    rest = (real - np.floor(real)).ravel()
    for place in np.argsort(-rest, kind="stable"):
        if rest[place] <= 0:
            break
        i, j = divmod(int(place), len(columns))
        if lack_r[i] > 0 and lack_c[j] > 0:
            whole[i, j] += 1
            lack_r[i] -= 1
            lack_c[j] -= 1
    i = j = 0
    while i < len(rows) and j < len(columns):
        step = min(lack_r[i], lack_c[j])
        whole[i, j] += step
        lack_r[i] -= step
        lack_c[j] -= step
        i, j = (i + 1, j) if lack_r[i] == 0 else (i, j + 1)
    return whole


def _transported(given: Reals, rows: Reals, columns: Reals) -> Reals:
    sums = given.sum(1)
    given = given * np.where(sums > rows, rows / np.where(sums > 0, sums, 1), 1)[:, None]
    sums = given.sum(0)
    given = given * np.where(sums > columns, columns / np.where(sums > 0, sums, 1), 1)
    lack_r, lack_c = np.maximum(rows - given.sum(1), 0), np.maximum(columns - given.sum(0), 0)
    lacking = float(lack_r.sum())
    return given + np.outer(lack_r, lack_c) / lacking if lacking > 0 else given


def _trimmed(whole: Integers, rows: Integers, columns: Integers) -> tuple[Integers, Integers]:
    """What rows and columns lack, after taking away what rounding of doubles put in excess."""
    for axis, sums in ((1, rows), (0, columns)):
        for line in np.flatnonzero(whole.sum(axis) > sums):
            cells = whole[line] if axis == 1 else whole[:, line]
            excess = int(cells.sum() - sums[line])
            for place in np.argsort(-cells, kind="stable"):
                taken = min(excess, int(cells[place]))
                cells[place] -= taken
                excess -= taken
    return rows - whole.sum(1), columns - whole.sum(0)


def _mixed(domain: Domain, near: Mapping[Axes, Reals], bits: int) -> dict[Axes, Integers]:
    """Where nothing better is known: a little of a table of independent columns lifts the lowest cell to zero.

    All tables are mixed alike, with tables that agree, so they still agree; the steps are those of `rebuild`.
    """
    tables = maximal(near)
    room = 2.0 ** (max(map(len, tables)) - bits)  # what rounding may take from a cell, twice
    others = [{axes: _independent(near, axes, own) for axes in near} for own in _OWN]
    moves = [(_share(near, other, tables, room), other) for other in others]
    share, other = min(moves, key=lambda move: move[0] * _distance(near, move[1], tables))
    if share > 1:  # less records than cells by far: none are left
        return {axes: np.zeros(domain.shape(axes), dtype=np.int64) for axes in tables}
    mixed = {axes: (1 - share) * near[axes] + share * other[axes] for axes in near}
    sums = {axes: corners(mixed[axes], bits) for axes in near}
    return {axes: cells(domain, sums, axes) for axes in tables}


def _share(near: Mapping[Axes, Reals], other: Mapping[Axes, Reals], tables: Sequence[Axes], room: float) -> float:
    """The least share of the others that leaves no cell below `room`; infinite if there is none."""
    share = 0.0
    for axes in tables:
        low = near[axes] < room
        lack, gain = room - near[axes][low], other[axes][low] - near[axes][low]
        if np.any(lack >= gain):
            return math.inf
        share = max(share, float(np.max(lack / gain, initial=0.0)))
    return share


def _distance(near: Mapping[Axes, Reals], other: Mapping[Axes, Reals], tables: Sequence[Axes]) -> float:
    return math.sqrt(sum(float(((near[axes] - other[axes]) ** 2).sum()) for axes in tables))


def _independent(near: Mapping[Axes, Reals], axes: Axes, weight: float) -> Reals:
    """The table of independent columns, each so much its own counts and for the rest all keys alike."""
    table = np.array(max(float(near[()]), 0.0))
    for i in axes:
        own = np.maximum(near[i,], 0)
        even = 1 / own.size
        share = own / own.sum() if own.sum() > 0 else np.full(own.size, even)
        table = np.multiply.outer(table, weight * share + (1 - weight) * even)
    return table
