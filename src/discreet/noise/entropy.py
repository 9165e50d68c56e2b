"""Where randomness comes from: the operating system, through AES-256 in counter mode.

Guarantee: no two processes share a byte, no byte is handed out twice, and what was handed out cannot be recomputed from
    memory, because every stretch of `STRETCH` bytes has a fresh key from the operating system.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

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
        self._stretch, self._at, self._owner = b"", 0, os.getpid()

    def bits(self, count: int, /) -> int:
        """A uniform integer in [0, 2^count)."""
        size = (count + 7) >> 3
        return int.from_bytes(self.raw(size), "little") >> (8 * size - count)

    def raw(self, count: int, /) -> bytes:
        """So many uniform bytes, each handed out once."""
        if count > STRETCH >> 2:
            return _keystream(count)
        end = self._at + count
        if end > len(self._stretch) or self._owner != os.getpid():  # a forked child must not repeat its parent
            self._stretch, end, self._owner = _keystream(STRETCH), count, os.getpid()
        taken, self._at = self._stretch[end - count : end], end
        return taken


SECURE = Secure()
os.register_at_fork(after_in_child=lambda: SECURE.__init__())  # type: ignore[misc]  # also where a pid comes back
