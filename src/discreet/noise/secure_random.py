"""Where randomness comes from: the operating system, through AES-256 in counter mode; and uniform numbers of it.

Guarantee: no two processes share a byte and no byte is handed out twice. Every stretch of `STRETCH` bytes, and every
    longer request, has a fresh key from the operating system, so what was handed out before the present stretch cannot
    be recomputed from memory.
"""

from __future__ import annotations

import io
import os
import threading
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import count

STRETCH = 1 << 16
_LARGE = 1 << 20


class Entropy(Protocol):
    """A source of independent uniform bits."""

    def bits(self, count: int, /) -> int:
        """A uniform integer in [0, 2^count)."""
        ...

    def raw(self, count: int, /) -> bytes:
        """So many uniform bytes."""
        ...


def _keystream(count: int) -> bytes:
    key = os.urandom(48)
    encryptor = Cipher(algorithms.AES(key[:32]), modes.CTR(key[32:])).encryptor()
    if count <= _LARGE:
        return encryptor.update(bytes(count))
    zeros, whole = bytes(_LARGE), count // _LARGE
    parts = [encryptor.update(zeros) for _ in range(whole)]
    return b"".join([*parts, encryptor.update(bytes(count - whole * _LARGE))])


class Secure(threading.local):
    """The only source of production. It takes no seed; each thread and each process has its own stretch."""

    def __init__(self) -> None:
        self._held = io.BytesIO(), _process()

    def bits(self, count: int, /) -> int:
        """A uniform integer in [0, 2^count)."""
        size = (count + 7) >> 3
        return int.from_bytes(self.raw(size), "little") >> (8 * size - count)

    def raw(self, count: int, /) -> bytes:
        """So many uniform bytes, each handed out once."""
        count = int(count)  # a narrow integer type would wrap around
        if count < 0:
            raise Refusal(f"expected a number of bytes >= 0, got {count}")
        stretch, owner = self._held
        while True:
            # one call takes the bytes and moves on, so a signal handler that draws in between gets others
            taken = stretch.read(count)
            if len(taken) == count and owner == _process():  # a forked child must not repeat its parent
                return taken
            owner = _process()
            if count > STRETCH >> 2:
                stretch = io.BytesIO(_keystream(count))  # a stretch of its own, not kept
            else:
                stretch = io.BytesIO(_keystream(STRETCH))
                self._held = stretch, owner


_forks = 0


def _process() -> tuple[int, int]:
    """Which process this is. The process id alone can come back; a fork that no hook of Python's saw changes it."""
    return _forks, os.getpid()


def _forked() -> None:
    global _forks  # noqa: PLW0603  # the one fact about a process that its memory must know
    _forks += 1


os.register_at_fork(after_in_child=_forked)
SECURE = Secure()


# Uniform numbers by rejection: no modulo, no bias.


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
