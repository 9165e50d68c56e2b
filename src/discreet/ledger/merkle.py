"""A Merkle tree over the entries' hashes, as in Certificate Transparency (RFC 9162 §2.1).

A root of n leaves commits to all of them and their order. An inclusion proof shows that one entry is among them, a
consistency proof that a longer ledger begins with the whole of a shorter one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# The root of the 2^level leaves from place · 2^level on: everything below is made of such whole trees, so that whoever
# keeps them answers from a few.
Node = Callable[[int, int], bytes]


def leaf(data: bytes) -> bytes:
    """The hash of a leaf."""
    return hashlib.sha256(b"\x00" + data).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def _split(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def root(leaves: Sequence[bytes]) -> bytes:
    """The root of these leaf hashes; of none, the hash of nothing."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    k = _split(len(leaves))
    return _node(root(leaves[:k]), root(leaves[k:]))


def kept_in(leaves: Sequence[bytes]) -> Node:
    """The whole trees over leaves that are all at hand."""
    return lambda level, place: root(leaves[place << level : place + 1 << level])


def root_of(node: Node, low: int, high: int) -> bytes:
    """The root of the leaves from `low` to before `high`, where a tree of them begins."""
    size = high - low
    if not size:
        return root([])
    if size & (size - 1) == 0:
        level = size.bit_length() - 1
        return node(level, low >> level)
    k = _split(size)
    return _node(root_of(node, low, low + k), root_of(node, low + k, high))


def inclusion(node: Node, size: int, index: int) -> list[bytes]:
    """The siblings from leaf `index` (from 0) up to the root of the first `size` leaves."""
    low, high, above = 0, size, []
    while high - low > 1:
        middle = low + _split(high - low)
        if index < middle:
            above.append(root_of(node, middle, high))
            high = middle
        else:
            above.append(root_of(node, low, middle))
            low = middle
    return above[::-1]


def included(hashed: bytes, index: int, size: int, proof: Sequence[bytes], expected: bytes) -> bool:
    """Whether `proof` shows leaf `hashed` at `index` in the tree of `size` leaves with root `expected`."""
    return 0 <= index < size and _climb(hashed, index, size, list(proof)) == expected


def _climb(hashed: bytes, index: int, size: int, proof: list[bytes]) -> bytes | None:
    if size == 1:
        return hashed if not proof else None
    if not proof:
        return None
    k, sibling = _split(size), proof.pop()
    if index < k:
        below = _climb(hashed, index, k, proof)
        return None if below is None else _node(below, sibling)
    below = _climb(hashed, index - k, size - k, proof)
    return None if below is None else _node(sibling, below)


def consistency(node: Node, old: int, size: int) -> list[bytes]:
    """What shows that the tree of the first `old` leaves, 0 ≤ old ≤ size, is the beginning of that of `size`."""
    low, high, above = 0, size, []
    while old and old != high:
        middle = low + _split(high - low)
        if old <= middle:
            above.append(root_of(node, middle, high))
            high = middle
        else:
            above.append(root_of(node, low, middle))
            low = middle
    return above[::-1] if not old or low == 0 else [root_of(node, low, high), *above[::-1]]


def consistent(old_size: int, old_root: bytes, new_size: int, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether `proof` shows that the new tree begins with the old one."""
    if not 0 <= old_size <= new_size:
        return False
    if old_size == 0:  # every tree begins with nothing
        return old_root == root([]) and not proof and (new_size > 0 or new_root == old_root)
    if old_size == new_size:
        return old_root == new_root and not proof
    both = _rise(old_size, new_size, list(proof), old_root, whole=True)
    return both == (old_root, new_root)


def _rise(old: int, new: int, proof: list[bytes], old_root: bytes, *, whole: bool) -> tuple[bytes, bytes] | None:
    """The two roots that a proof implies, or None if it has the wrong length."""
    if old == new:
        if whole:
            return (old_root, old_root) if not proof else None
        return (proof[0], proof[0]) if len(proof) == 1 else None
    if not proof:
        return None
    k, sibling = _split(new), proof.pop()
    if old <= k:
        below = _rise(old, k, proof, old_root, whole=whole)
        return None if below is None else (below[0], _node(below[1], sibling))
    below = _rise(old - k, new - k, proof, old_root, whole=False)
    return None if below is None else (_node(sibling, below[0]), _node(sibling, below[1]))


@dataclass(frozen=True)
class Frontier:
    """The whole trees that so many leaves make up, the largest first: all that is needed to go on, and for the root."""

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    @property
    def root(self) -> bytes:
        """The root of all leaves."""
        if not self.peaks:
            return root([])
        hashed = self.peaks[-1]
        for peak in self.peaks[-2::-1]:
            hashed = _node(peak, hashed)
        return hashed

    def grown(self, hashed: bytes) -> tuple[Frontier, list[tuple[int, int, bytes]]]:
        """With one leaf more; and the whole trees that are new with it: level, place and root of each."""
        peaks, level, place = list(self.peaks), 0, self.size
        new = [(level, place, hashed)]
        while place & 1:
            hashed = _node(peaks.pop(), hashed)
            level, place = level + 1, place >> 1
            new.append((level, place, hashed))
        return Frontier(self.size + 1, (*peaks, hashed)), new
