"""Merkle proofs: every true one holds, every altered one does not."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.ledger import merkle

LEAVES = [merkle.leaf(bytes([i])) for i in range(33)]


def test_small_roots_by_hand() -> None:
    def node(a: bytes, b: bytes) -> bytes:
        return hashlib.sha256(b"\x01" + a + b).digest()

    a, b, c = LEAVES[:3]
    assert merkle.leaf(b"x") == hashlib.sha256(b"\x00x").digest()
    assert merkle.root([]) == hashlib.sha256(b"").digest()
    assert merkle.root([a]) == a
    assert merkle.root([a, b, c]) == node(node(a, b), c)


@pytest.mark.parametrize("size", range(1, 33))
def test_every_leaf_is_included_and_no_other_in_its_place(size: int) -> None:
    leaves, root = LEAVES[:size], merkle.root(LEAVES[:size])
    for i in range(size):
        proof = merkle.inclusion(merkle.kept_in(leaves), size, i)
        assert merkle.included(leaves[i], i, size, proof, root)
        assert not merkle.included(LEAVES[32], i, size, proof, root)
        assert not merkle.included(leaves[i], i + 1, size, proof, root) or (size == 1 and i + 1 < size)
        assert not merkle.included(leaves[i], i, size, [*proof, LEAVES[0]], root)
        assert not proof or not merkle.included(leaves[i], i, size, proof[:-1], root)


@pytest.mark.parametrize("size", range(1, 33))
def test_every_beginning_is_consistent_and_no_other(size: int) -> None:
    new = merkle.root(LEAVES[:size])
    for old_size in range(1, size + 1):
        proof, old = merkle.consistency(merkle.kept_in(LEAVES[:size]), old_size, size), merkle.root(LEAVES[:old_size])
        assert merkle.consistent(old_size, old, size, new, proof)
        assert not merkle.consistent(old_size, merkle.root(LEAVES[1 : old_size + 1]), size, new, proof)
        assert not merkle.consistent(old_size, old, size, LEAVES[0] if size > 1 else LEAVES[1], proof)


@given(st.integers(2, 33).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n - 1))), st.data())
def test_a_consistency_proof_with_one_altered_hash_fails(sizes: tuple[int, int], data: st.DataObject) -> None:
    size, old_size = sizes
    proof = merkle.consistency(merkle.kept_in(LEAVES[:size]), old_size, size)
    place = data.draw(st.integers(0, len(proof) - 1))
    altered = [*proof[:place], hashlib.sha256(proof[place]).digest(), *proof[place + 1 :]]
    assert not merkle.consistent(old_size, merkle.root(LEAVES[:old_size]), size, merkle.root(LEAVES[:size]), altered)


def test_a_frontier_has_the_root_and_every_whole_tree_of_its_leaves() -> None:
    grown = merkle.Frontier()
    kept: dict[tuple[int, int], bytes] = {}
    by_hand, held = merkle.kept_in(LEAVES), lambda level, place: kept[level, place]
    for size, leaf in enumerate(LEAVES, start=1):
        grown, new = grown.grown(leaf)
        kept.update({(level, place): found for level, place, found in new})
        assert (grown.size, grown.root) == (size, merkle.root(LEAVES[:size]))
        for old in range(size + 1):
            assert merkle.root_of(held, 0, old) == merkle.root(LEAVES[:old])
            assert merkle.consistency(held, old, size) == merkle.consistency(by_hand, old, size)
        for index in range(size):
            assert merkle.inclusion(held, size, index) == merkle.inclusion(by_hand, size, index)
    assert len(kept) == sum(len(LEAVES) >> level for level in range(6))
