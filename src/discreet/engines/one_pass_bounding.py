"""One pass over rows that come in the order of their owners: each owner is bounded as soon as all of him is there.

No table of all pairs of owner and group is kept, which is what makes bounding slow in SQL. What is kept of an owner
depends on his own rows and a secret key alone. The rules are those of `sql.bounding`; only the digest is another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Unsigned = NDArray[np.uint64]
Places = NDArray[np.int64]
Value = tuple[NDArray[np.integer], NDArray[np.bool_] | None]  # numbers, and where they are there; None: everywhere

NARROW = 1 << 16  # numbers below this are sorted digit by digit, in linear time; no piece has more rows
WIDTH = 31  # bits for the code of each key's value
MOST_KEYS = 2
FARTHEST = 1 << 30  # values lie nearer to 0, so that 2^31 of them, also about their middle, add up in 64 bits


class Unsuited(Exception):
    """These rows are not in the order of their owners, so another way must be taken.

    It follows from how a file was written alone. Nothing that a person's rows decide may choose between two ways: their
    digests differ, so the choices of everybody else would change with that person.
    """


@dataclass(frozen=True)
class Number:
    """A statistic of a group: rows, units or nothing; present, total or centred, of the value in some place."""

    kind: str
    place: int = 0
    middle: int = 0


@dataclass(frozen=True)
class Rules:
    """How much of an owner counts, what is added up, and the secret that chooses his groups and rows."""

    max_groups: int
    max_rows: int | None
    numbers: tuple[Number, ...]
    secret: bytes

    def owned(self, owners: Whole) -> Unsigned:
        """The digests of owners."""
        return mixed(owners.view(np.uint64) ^ np.uint64(self.digest(-1, None)))

    def digest(self, place: int, value: object) -> int:
        """Of a key's value, by the value and never by its code: codes move when other owners come and go."""
        said = f"{place} {type(value).__name__} {value}".encode()
        return int.from_bytes(hashlib.blake2b(said, digest_size=8, key=self.secret).digest(), "little")


@dataclass(frozen=True)
class OwnedRows:
    """Rows in the order of their owners: whose they are, the codes of their groups, and values."""

    owners: Whole
    groups: NDArray[np.integer]
    values: tuple[Value, ...]
    digests: tuple[Unsigned, ...]  # for each key, of each code so far

    def some(self, places: Places | slice) -> OwnedRows:
        """Those in some places."""
        values = tuple((value[places], None if there is None else there[places]) for value, there in self.values)
        return OwnedRows(self.owners[places], self.groups[places], values, self.digests)

    def copy(self) -> OwnedRows:
        """The same, in memory of their own: a part would keep everything it is a part of."""
        return self.some(np.arange(len(self.owners)))

    @cached_property
    def changes(self) -> NDArray[np.bool_]:
        """Where the next row is another owner's."""
        changes: NDArray[np.bool_] = self.owners[1:] != self.owners[:-1]
        return changes

    @cached_property
    def places(self) -> Places:
        """The place of each row's owner among the owners."""
        return np.append(0, np.cumsum(self.changes))[: len(self.owners)]

    def pieces(self) -> Iterator[OwnedRows]:
        """The same, so few at a time that their owners and groups have narrow numbers."""
        for start in range(0, len(self.owners), NARROW):
            yield self.some(slice(start, start + NARROW))


@dataclass(frozen=True)
class Pairs:
    """What each owner has in each group: rows, and for each value its sum and how often it is there."""

    owners: Whole  # in order, each once
    groups: Whole  # each once
    owner: Places  # of each pair, in `owners`
    group: Places  # and in `groups`
    sums: tuple[Whole, ...]  # rows, sum, how often, sum, how often, …

    def some(self, places: Places) -> Pairs:
        """Those in some places."""
        sums = tuple(each[places] for each in self.sums)
        return Pairs(self.owners, self.groups, self.owner[places], self.group[places], sums)


_NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class Found:
    """Groups, how many owners each has, and its statistics."""

    groups: Whole
    units: Whole
    numbers: tuple[Whole, ...]


@dataclass(frozen=True)
class Totals:
    """The same, of all pieces together."""

    groups: list[int]
    units: list[int]
    numbers: list[list[int]]


def tally(stream: Iterable[OwnedRows], rules: Rules, threads: int) -> Totals:
    """Everything that a stream of rows adds up to."""
    pieces: list[Found] = []
    edges: list[OwnedRows] = []

    def take(done: Future[tuple[list[Found], tuple[OwnedRows, ...]]]) -> None:
        inside, outside = done.result()
        pieces.extend(inside)
        edges.extend(rows for rows in outside if len(rows.owners))
        several = edges and edges[0].owners[0] != edges[-1].owners[-1]
        if several and sum(len(rows.owners) for rows in edges) > NARROW // 2:
            together = _joined(edges)
            last = int(np.searchsorted(together.owners, together.owners[-1]))
            pieces.extend(_bounded(together.some(slice(last)), rules))
            edges[:] = [together.some(slice(last, None)).copy()]  # who may have more

    with ThreadPoolExecutor(threads) as workers:
        waiting: list[Future[tuple[list[Found], tuple[OwnedRows, ...]]]] = []
        for rows in _in_order(stream):
            waiting.append(workers.submit(_piece, rows, rules))
            if len(waiting) > 2 * threads:
                take(waiting.pop(0))
        for each in waiting:
            take(each)
    pieces += _bounded(_joined(edges), rules) if edges else []
    return _together(pieces, len(rules.numbers))


def _in_order(stream: Iterable[OwnedRows]) -> Iterator[OwnedRows]:
    """The pieces of a stream, as long as each begins where the one before ended."""
    last = None
    for rows in stream:
        for piece in rows.pieces():
            if last is not None and int(piece.owners[0]) < last:
                raise Unsuited
            last = int(piece.owners[-1])
            yield piece


def _piece(rows: OwnedRows, rules: Rules) -> tuple[list[Found], tuple[OwnedRows, ...]]:
    """What the owners add who are all in this piece; and the rows of the first and the last, who may have more."""
    changes = np.flatnonzero(rows.changes) + 1
    if not (rows.owners[changes] > rows.owners[changes - 1]).all():
        raise Unsuited
    first, last = (int(changes[0]), int(changes[-1])) if len(changes) else (0, 0)
    edges = (rows.some(slice(first)).copy(), rows.some(slice(last, None)).copy())
    return _bounded(rows.some(slice(first, last)), rules), edges


def _pairs(rows: OwnedRows) -> Pairs:
    """Rows of one owner in one group, put together: a stable sort by group leaves them side by side."""
    groups, codes = _narrow(rows.groups)
    order = np.argsort(codes, kind="stable")
    both = codes.astype(np.uint32) << np.uint32(16)
    both[1:] |= np.cumsum(rows.changes, dtype=np.uint32)
    both = both[order]
    ends = _ends(both[1:] != both[:-1])[: len(both)]
    both = both[ends]
    size = np.diff(ends, prepend=-1)
    sums = [size]
    for value, there in rows.values:
        sums += [_runs(value[order], ends), size if there is None else _runs(there[order], ends)]
    owner = (both & np.uint32(NARROW - 1)).astype(np.int64)
    owners = rows.owners[_ends(rows.changes)[: len(order)]]
    return Pairs(owners, groups, owner, (both >> np.uint32(16)).astype(np.int64), tuple(sums))


def _ends(changes: NDArray[np.bool_]) -> Places:
    """Where runs end, given where the next is another."""
    return np.append(np.flatnonzero(changes), len(changes))


def _narrow(groups: NDArray[np.integer]) -> tuple[Whole, NDArray[np.uint16]]:
    """Groups, and for each row its place among them. Codes that are narrow anyway stay as they are."""
    if groups.dtype == np.uint16:
        return np.arange(int(groups.max(initial=0)) + 1), groups.view(np.uint16)
    coded = pa.array(groups).dictionary_encode()
    return coded.dictionary.to_numpy(), coded.indices.to_numpy().astype(np.uint16)


def _runs(values: NDArray[np.generic], ends: Places) -> Whole:
    """Sums of runs that end there."""
    return np.diff(np.cumsum(values, dtype=np.int64)[ends], prepend=0)


def _bounded(rows: OwnedRows, rules: Rules) -> list[Found]:
    """What owners who are all here add, each with no more groups than he may have, and then no more rows."""
    pairs, edges = _chosen(_gathered(rows), rows.digests, rules)
    crowded = np.zeros(len(pairs.owners), bool)
    if rules.max_rows is not None:
        crowded = np.bincount(pairs.owner, pairs.sums[0], len(pairs.owners)) > rules.max_rows
    if rules.max_rows is None or not crowded.any():
        return [_added(pairs, rules)]
    many = rows.some(np.flatnonzero(crowded[rows.places]))
    if edges is not None:
        inside = _grouped(many, rules) >> np.uint64(32) < edges[crowded][many.places]
        many = many.some(np.flatnonzero(inside))
    kept = _gathered(_fewer(many, rules.max_rows, rules))
    return [_added(pairs.some(np.flatnonzero(~crowded[pairs.owner])), rules), _added(kept, rules)]


def _gathered(rows: OwnedRows) -> Pairs:
    """The pairs of rows of which there may be more than in one piece."""
    return _whole([_pairs(piece) for piece in rows.pieces()] or [_pairs(rows)])


def _added(pairs: Pairs, rules: Rules) -> Found:
    """The numbers of each group. Pairs come in the order of their groups."""
    ends = _ends(pairs.group[1:] != pairs.group[:-1])[: len(pairs.group)]
    added = tuple(_runs(_number(number, pairs), ends) for number in rules.numbers)
    return Found(pairs.groups[pairs.group[ends]], np.diff(ends, prepend=-1), added)


def _chosen(pairs: Pairs, digests: tuple[Unsigned, ...], rules: Rules) -> tuple[Pairs, Unsigned | None]:
    """Of an owner with too many groups those with the smallest digests; and where each owner's choice ends, if at all.

    It ends before the (L + 1)-th smallest; equal ones fall together on the far side, so at most L are left.
    """
    many = np.bincount(pairs.owner, minlength=len(pairs.owners))
    beyond = many > rules.max_groups
    if not beyond.any():
        return pairs, None
    at = np.flatnonzero(beyond[pairs.owner])
    owner = pairs.owner[at]
    of_owner, of_group = rules.owned(pairs.owners), _digest(pairs.groups, digests)
    digest = (mixed(of_owner[owner] ^ of_group[pairs.group[at]]) >> np.uint64(32)).astype(np.uint32)
    order = np.argsort(digest.astype(np.uint16), kind="stable")
    for figure in ((digest >> np.uint32(16)).astype(np.uint16), owner.astype(np.uint16)):
        order = order[np.argsort(figure[order], kind="stable")]
    firsts = np.cumsum(many[beyond]) - many[beyond]
    edges = np.full(len(many), 1 << 32, np.uint64)
    edges[beyond] = digest[order[firsts + rules.max_groups]]
    kept = np.ones(len(pairs.owner), bool)
    kept[at] = digest < edges[owner]
    return pairs.some(np.flatnonzero(kept)), edges


def _grouped(rows: OwnedRows, rules: Rules) -> Unsigned:
    """The digest of the group of each row, by which groups are chosen."""
    return mixed(rules.owned(rows.owners) ^ _digest(rows.groups.astype(np.int64), rows.digests))


def _fewer(rows: OwnedRows, cap: int, rules: Rules) -> OwnedRows:
    """Of owners who all have too many rows, so many of each: those with the smallest digests.

    As in `sql.row_cap`, a digest is made of the owner, of what a row says, and of its number among his rows that say
    the same. His choice ends before the (cap + 1)-th smallest; equal ones fall together on the far side.
    """
    digest, contents = _grouped(rows, rules), [rows.groups]
    for value, there in rows.values:
        present = np.ones(len(value), bool) if there is None else there
        contents.append((value.astype(np.int64) * 2 + 1) * present)
        digest = mixed(digest + contents[-1].view(np.uint64))
    order = np.lexsort((*contents, rows.places))
    changes = rows.places[order][1:] != rows.places[order][:-1]
    for content in contents:
        changes |= content[order][1:] != content[order][:-1]
    begins = np.append(0, np.flatnonzero(changes) + 1)
    copies = np.empty(len(order), np.int64)
    copies[order] = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    digest = mixed(digest + copies.view(np.uint64))
    firsts = np.append(0, np.flatnonzero(rows.changes) + 1)
    edges = digest[np.lexsort((digest, rows.places))][firsts + cap]
    return rows.some(np.flatnonzero(digest < edges[rows.places]))


def _digest(groups: Whole, digests: tuple[Unsigned, ...]) -> Unsigned:
    """Of groups: the digests of their keys' values, one after the other."""
    digest = np.zeros(len(groups), np.uint64)
    for place, known in enumerate(digests):
        code = (groups >> (WIDTH * place)) & ((1 << WIDTH) - 1)
        digest = mixed(digest + known[code])
    return digest


def mixed(values: Unsigned) -> Unsigned:
    """The finaliser of SplitMix64 (Steele, Lea & Flood 2014): a permutation that spreads every bit."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _number(number: Number, pairs: Pairs) -> Whole:
    total, present = pairs.sums[1 + 2 * number.place : 3 + 2 * number.place] or (pairs.sums[0], pairs.sums[0])
    match number.kind:
        case "rows":
            return pairs.sums[0]
        case "units":
            return np.ones_like(pairs.sums[0])
        case "present":
            return present
        case "total":
            return total
        case "centred":
            return total - number.middle * present
        case _:
            return np.zeros_like(pairs.sums[0])


def _joined(parts: list[OwnedRows]) -> OwnedRows:
    """Rows one after the other. Of a value that is not everywhere in some part, all say where it is."""
    values = []
    for place in range(len(parts[0].values)):
        each = [part.values[place] for part in parts]
        there = [np.ones(len(value), bool) if where is None else where for value, where in each]
        values.append((np.concatenate([value for value, _ in each]), np.concatenate(there)))
    groups = np.concatenate([part.groups for part in parts])
    return OwnedRows(np.concatenate([part.owners for part in parts]), groups, tuple(values), parts[-1].digests)


def _whole(parts: list[Pairs]) -> Pairs:
    """Pairs of several pieces as one, where an owner has each group once."""
    if len(parts) == 1:
        return parts[0]
    owners, owner = np.unique(_all([each.owners[each.owner] for each in parts]), return_inverse=True)
    groups, group = np.unique(_all([each.groups[each.group] for each in parts]), return_inverse=True)
    order = np.lexsort((owner, group))
    owner, group = owner[order], group[order]
    ends = _ends((owner[1:] != owner[:-1]) | (group[1:] != group[:-1]))
    sums = [_all(list(columns))[order] for columns in zip(*(each.sums for each in parts), strict=True)]
    return Pairs(owners, groups, owner[ends], group[ends], tuple(_runs(each, ends) for each in sums))


def _all(parts: list[Whole]) -> Whole:
    return np.concatenate([_NOTHING, *parts])


def _together(pieces: list[Found], width: int) -> Totals:
    """What several pieces come to, added up: in two halves, so that no number of pieces is too large."""
    groups, place = np.unique(_all([each.groups for each in pieces]), return_inverse=True)
    columns = [_all([each.units for each in pieces])]
    columns += [_all([each.numbers[i] for each in pieces]) for i in range(width)]
    totals = []
    for column in columns:
        high, low = np.zeros(len(groups), np.int64), np.zeros(len(groups), np.int64)
        np.add.at(high, place, column >> 32)
        np.add.at(low, place, column & 0xFFFFFFFF)
        totals.append([(a << 32) + b for a, b in zip(high.tolist(), low.tolist(), strict=True)])
    return Totals(groups.tolist(), totals[0], totals[1:])
