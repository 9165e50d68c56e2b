"""Doubles for effects. They live beside the tests, so nothing that is installed can reach a seed."""

from __future__ import annotations

import random
from collections.abc import Iterable


class Seeded:
    """Reproducible bits from Python's Mersenne Twister. Not secret."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def bits(self, count: int, /) -> int:
        """A uniform integer in [0, 2^count)."""
        return self._random.getrandbits(count) if count else 0

    def raw(self, count: int, /) -> bytes:
        """So many uniform bytes."""
        return self._random.randbytes(count)


class Scripted:
    """Hands out the given bytes, then refuses: for forcing a branch that chance would take once in an age."""

    def __init__(self, script: Iterable[bytes]) -> None:
        self._left = b"".join(script)

    def bits(self, count: int, /) -> int:
        """The next bits of the script, little end first."""
        size = (count + 7) >> 3
        return int.from_bytes(self.raw(size), "little") >> (8 * size - count)

    def raw(self, count: int, /) -> bytes:
        """The next bytes of the script."""
        if count > len(self._left):
            raise EOFError(f"the script has {len(self._left)} bytes left, {count} were asked for")
        taken, self._left = self._left[:count], self._left[count:]
        return taken
