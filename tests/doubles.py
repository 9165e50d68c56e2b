"""Doubles for effects. They live beside the tests, so nothing that is installed can reach a seed."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction

from discreet.noise import Entropy


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


class Prefixed:
    """Hands out the given bytes, then those of another source."""

    def __init__(self, first: bytes, then: Entropy) -> None:
        self._first, self._then = first, then

    def bits(self, count: int, /) -> int:
        """From the other source: what is given first is bytes."""
        return self._then.bits(count)

    def raw(self, count: int, /) -> bytes:
        """What is left of the given bytes, if any; they must match the request."""
        if not self._first:
            return self._then.raw(count)
        assert count <= len(self._first), "a request straddles the given bytes"
        taken, self._first = self._first[:count], self._first[count:]
        return taken


class _Asked(Exception):
    """The script is over: so many more bits are wanted."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


class _Replay:
    """Answers from a list of (count, value), then stops the run."""

    def __init__(self, answers: tuple[tuple[int, int], ...]) -> None:
        self._answers = iter(answers)

    def bits(self, count: int, /) -> int:
        """The next recorded answer."""
        if count == 0:
            return 0
        asked, value = next(self._answers, (None, 0))
        if asked is None:
            raise _Asked(count)
        assert asked == count, "the function under test must depend on its bits alone"
        return value

    def raw(self, count: int, /) -> bytes:
        """The next recorded answer, as bytes."""
        return self.bits(8 * count).to_bytes(count, "little")


def enumerated(draw: Callable[[Entropy], Hashable], depth: int) -> tuple[dict[Hashable, Fraction], Fraction]:
    """The law of `draw`, following every string of up to `depth` bits: the mass of each outcome, and what is left open.

    The true probability of an outcome lies between its mass and its mass plus what is open.
    """
    mass: dict[Hashable, Fraction] = defaultdict(Fraction)
    unresolved = Fraction(0)
    stack: list[tuple[int, tuple[tuple[int, int], ...]]] = [(0, ())]
    while stack:
        used, answers = stack.pop()
        try:
            outcome = draw(_Replay(answers))
        except _Asked as asked:
            if used + asked.count > depth:
                unresolved += Fraction(1, 1 << used)
            else:
                stack += [(used + asked.count, (*answers, (asked.count, v))) for v in range(1 << asked.count)]
        else:
            mass[outcome] += Fraction(1, 1 << used)
    return mass, unresolved
