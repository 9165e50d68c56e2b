"""A Merkle tree over the entries' hashes, as in Certificate Transparency (RFC 9162 §2.1).

A root of n leaves commits to all of them and their order. An inclusion proof shows that one entry is among them, a
consistency proof that a longer ledger begins with the whole of a shorter one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


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


def inclusion(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The siblings from leaf `index` (from 0) up to the root."""
    if len(leaves) == 1:
        return []
    k = _split(len(leaves))
    if index < k:
        return [*inclusion(leaves[:k], index), root(leaves[k:])]
    return [*inclusion(leaves[k:], index - k), root(leaves[:k])]


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


def consistency(leaves: Sequence[bytes], size: int) -> list[bytes]:
    """What shows that the tree of the first `size` leaves, 0 ≤ size ≤ all, is the beginning of this one."""
    return _subproof(leaves, size, whole=True) if size else []


def _subproof(leaves: Sequence[bytes], size: int, *, whole: bool) -> list[bytes]:
    if size == len(leaves):
        return [] if whole else [root(leaves)]
    k = _split(len(leaves))
    if size <= k:
        return [*_subproof(leaves[:k], size, whole=whole), root(leaves[k:])]
    return [*_subproof(leaves[k:], size - k, whole=False), root(leaves[:k])]


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
