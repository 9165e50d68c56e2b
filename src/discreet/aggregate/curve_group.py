"""The group that sums are encrypted in: points of the curve secp256k1, whose order is prime, by libsecp256k1."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

from coincurve import PublicKey

from discreet.errors import Refusal

Point = PublicKey
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141  # of the group: SEC 2, version 2, 2.4.1
LENGTH = 65  # bytes of a point as it is sent; written short, it would take five times as long to read
_MARK = b"discreet-aggregate-point\0"


def scalar(number: int) -> bytes:
    """A whole number as an exponent, 32 bytes; zero, which no point has, is refused."""
    rest = number % ORDER
    if rest == 0:
        raise Refusal("expected an exponent that is not a multiple of the order of the group")
    return rest.to_bytes(32, "big")


@lru_cache(maxsize=1 << 14)
def multiple(number: int) -> Point:
    """The generator so many times, for number ≠ 0."""
    return Point.from_valid_secret(scalar(number))


@lru_cache(maxsize=1 << 10)
def hashed(label: bytes) -> Point:
    """A point whose logarithm nobody knows: the first of SHA-256(mark, i, label), i = 0, 1, …, that is a coordinate.

    About every second number is the first coordinate of a point. A label is public, so its time tells nothing.
    """
    attempt = 0
    while True:
        found = hashlib.sha256(_MARK + attempt.to_bytes(4, "big") + label).digest()
        try:
            return Point(b"\x02" + found)
        except ValueError:
            attempt += 1


def read_point(content: bytes) -> Point:
    """The point that was sent."""
    if len(content) == LENGTH and content[0] == 4:
        try:
            return Point(content)
        except ValueError:
            pass
    raise Refusal(f"these {len(content)} bytes are not a point of the curve")


def written(point: Point) -> bytes:
    """A point as it is sent."""
    return point.format(compressed=False)


def added(points: Sequence[Point]) -> Point | None:
    """The sum of points; None if it is the point at infinity, which has no coordinates."""
    try:
        return Point.combine_keys(list(points))
    except ValueError:
        return None
