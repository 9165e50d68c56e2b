"""Secret sharing: any `threshold` of the shares give a secret back, and fewer tell nothing of it (Shamir 1979)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.noise import SECURE, Entropy, below

PRIME = (1 << 521) - 1  # of Mersenne: larger than every secret of 32 bytes
WIDTH = 66  # bytes of a share


def split(secret: bytes, threshold: int, places: Iterable[int], *, rng: Entropy = SECURE) -> dict[int, int]:
    """A share for each place, a number ≥ 0: a polynomial of degree threshold − 1 through the secret, at place + 1."""
    weights = [int.from_bytes(secret, "big"), *(below(PRIME, rng=rng) for _ in range(threshold - 1))]
    return {place: _value(weights, place + 1) for place in places}


def _value(weights: list[int], at: int) -> int:
    value = 0
    for weight in reversed(weights):
        value = (value * at + weight) % PRIME
    return value


def joined(shares: Mapping[int, int]) -> int:
    """The number at 0 of the polynomial through these shares (Lagrange)."""
    total = 0
    for place, share in shares.items():
        top, bottom = 1, 1
        for other in shares:
            if other != place:
                top = top * (other + 1) % PRIME
                bottom = bottom * (other - place) % PRIME
        total += share * top * pow(bottom, -1, PRIME)
    return total % PRIME
