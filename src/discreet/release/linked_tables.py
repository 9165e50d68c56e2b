"""Linked tables: made-up children of made-up parents, from two releases of synthetic rows. Free: nothing is measured.

One release is of the parents, one row a unit, with a column that counts the children of each. The other is of the
children, each joined with what is known of its parent. A parent gets as many children as it says, and their values are
drawn by the second model given the cells that both have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.errors import Refusal
from discreet.exact import shown
from discreet.noise import SECURE, Entropy
from discreet.release.axis import NumberAxis
from discreet.release.interval_tree import Whole
from discreet.release.synthetic_release import SyntheticRelease

MOST_CHILDREN = 1 << 20  # that are drawn
_KINDS = 256  # of parents for which the model is asked anew
_TIMES = 2  # as many children are drawn at first as are needed


@dataclass(frozen=True)
class LinkedTables:
    """Parents, each with a number, and children that name it."""

    parents: pa.Table
    children: pa.Table


def linked(
    parents: SyntheticRelease, children: SyntheticRelease, *, count: str, key: str = "parent", rng: Entropy = SECURE
) -> LinkedTables:
    """The rows of `parents`, numbered in a column `key`, and children for them.

    `count` is the column of the parents that says how many children one has; in the rows it says how many there are.
    Columns that both releases have must have the same keys and bins. Children know of each other what their parent
    tells of them.
    """
    shared, own = _columns(parents, children, count, key)
    rows, places = parents.rows(), parents.content.rows
    numbers = np.nan_to_num(rows[count].to_numpy(zero_copy_only=False).astype(np.float64))
    many = np.maximum(numbers, 0).astype(np.int64)
    if int(many.sum()) > MOST_CHILDREN:
        raise Refusal(
            f"the parents have {int(many.sum()):,} children, and at most {MOST_CHILDREN:,} are drawn",
            hint="publish fewer rows of the parents, with rows=",
        )
    wanted = np.repeat(places[:, [parents.columns.index(name) for name in shared]], many, axis=0)
    drawn = _drawn(children, [children.columns.index(name) for name in shared], wanted, rng)
    numbered = pa.array(np.arange(1, len(places) + 1))
    told = children.of_cells(drawn, rng).select(list(own))
    return LinkedTables(
        rows.set_column(rows.column_names.index(count), count, pa.array(many)).add_column(0, key, numbered),
        told.add_column(0, key, pa.array(np.repeat(np.arange(1, len(places) + 1), many))),
    )


def _columns(
    parents: SyntheticRelease, children: SyntheticRelease, count: str, key: str
) -> tuple[Sequence[str], Sequence[str]]:
    """The columns that both have, and those of the children alone."""
    side = parents.side(count)
    if not isinstance(side, NumberAxis) or side.step != 1 or side.time is not None or count in children.columns:
        raise Refusal(
            f"{shown(count)} is to say how many children a parent has, as whole numbers in the parents alone",
            hint="publish a SELECT with count(*) of a person's rows, and name that column",
        )
    shared = [name for name in children.columns if name in parents.columns]
    own = [name for name in children.columns if name not in shared]
    if not shared or not own:
        raise Refusal(
            f"the parents have {list(parents.columns)} and the children {list(children.columns)}: "
            "some columns must be in both, and some in the children alone",
            hint="publish the children joined with what is known of their parents",
        )
    for name in shared:
        if parents.side(name) != children.side(name):
            raise Refusal(
                f"column {name!r} has other keys or bins in the children than in the parents",
                hint="publish both with the same --bins",
            )
    if key in parents.columns or key in own:
        raise Refusal(f"there is a column {shown(key)} already", hint="name the numbers of parents otherwise")
    return shared, own


def _drawn(children: SyntheticRelease, axes: Sequence[int], wanted: Whole, rng: Entropy) -> Whole:
    """For each wanted combination of cells of some columns a row of the model that has it.

    Many rows are drawn and handed out. Of kinds that are then left, the commonest are drawn by themselves; others get
    rows that have fewer of the columns, the first ones, in common with what is wanted.
    """
    content, sizes = children.content, [children.content.domain.sizes[i] for i in axes]
    every, left = np.zeros((len(wanted), len(children.columns)), dtype=np.int64), np.arange(len(wanted))
    pool = content.drawn(max(1, min(MOST_CHILDREN, _TIMES * len(wanted))), rng) if len(wanted) else every
    left, pool = _handed_out(every, left, pool, wanted, axes)
    kinds, place, many = np.unique(wanted[left], axis=0, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    for kind in np.argsort(-many, kind="stable")[:_KINDS].tolist() if left.size else []:
        weights = {i: np.eye(size)[cell] for i, size, cell in zip(axes, sizes, kinds[kind].tolist(), strict=True)}
        try:
            rows = content.drawn(int(many[kind]), rng, weights)
        except Refusal:  # the model has none
            continue
        some = left[place == kind][: len(rows)]
        every[some] = rows
        place = np.where(np.isin(left, some), -1, place)
    left = left[place >= 0]
    for fewer in range(len(axes) - 1, -1, -1):
        if left.size and fewer == 0:
            pool = content.drawn(left.size, rng)
        left, pool = _handed_out(every, left, pool, wanted[:, :fewer], axes[:fewer])
    return every


def _handed_out(every: Whole, left: Whole, pool: Whole, wanted: Whole, axes: Sequence[int]) -> tuple[Whole, Whole]:
    """Put rows of a pool where they have what is wanted, each once; what is left of either."""
    if not left.size or not len(pool):
        return left, pool
    both = np.concatenate([wanted[left], pool[:, list(axes)]]) if axes else np.zeros((left.size + len(pool), 1))
    code = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    asked, there = code[: left.size], code[left.size :]
    order, stock = np.argsort(asked, kind="stable"), np.argsort(there, kind="stable")
    rank = np.arange(left.size) - np.searchsorted(asked[order], asked[order])  # the how-manieth of its kind
    begins = np.searchsorted(there[stock], asked[order])
    ends = np.searchsorted(there[stock], asked[order], side="right")
    served = begins + rank < ends
    taken = stock[(begins + rank)[served]]
    every[left[order[served]]] = pool[taken]
    return np.sort(left[order[~served]]), np.delete(pool, taken, axis=0)
