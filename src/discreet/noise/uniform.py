"""Uniform integers and permutations, by rejection: no modulo, no bias."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import count
from discreet.noise.entropy import SECURE, Entropy


def below(n: int, *, rng: Entropy = SECURE) -> int:
    """Uniform on {0, …, n−1}."""
    return whole_below(count(n, "n"), rng)


def whole_below(n: int, rng: Entropy) -> int:
    """`below` for inner loops, which know that n ≥ 1 is a Python integer."""
    size = (n - 1).bit_length()
    while (u := rng.bits(size)) >= n:
        pass
    return u


def words(size: int, *, rng: Entropy = SECURE) -> NDArray[np.uint64]:
    """Independent uniform 64-bit words."""
    return np.frombuffer(rng.raw(8 * size), dtype=np.uint64)


def belows(n: int, size: int, *, rng: Entropy = SECURE) -> NDArray[np.int64]:
    """`size` independent draws, uniform on {0, …, n−1}, for n up to 2^62."""
    n, size = count(n, "n"), count(size, "size", least=0)
    if n > 1 << 62:
        raise Refusal(f"expected n <= 2^62, got n={n}")
    shift, out = np.uint64(64 - (n - 1).bit_length()), np.zeros(size, dtype=np.int64)
    if n == 1:
        return out
    todo = np.arange(size)
    while todo.size:
        drawn = (words(todo.size, rng=rng) >> shift).astype(np.int64)
        fits = drawn < n
        out[todo[fits]] = drawn[fits]
        todo = todo[~fits]
    return out


def permutation(n: int, *, rng: Entropy = SECURE) -> NDArray[np.int64]:
    """A uniform order of {0, …, n−1}: the order of n random keys, given that no two are equal."""
    while True:
        keys = words(count(n, "n", least=0), rng=rng)
        order = np.argsort(keys)
        if np.all(np.diff(keys[order])):  # equal keys would be ordered by position: draw all of them again
            return order.astype(np.int64)
