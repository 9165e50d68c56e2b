"""Postgres' binary form of NUMERIC: digits in base 10,000, a weight, a sign, and how many decimals to show."""

from __future__ import annotations

import struct
from decimal import Decimal

_NEGATIVE, _NAN, _PLUS, _MINUS = 0x4000, 0xC000, 0xD000, 0xF000
_SPECIAL = {_NAN: Decimal("NaN"), _PLUS: Decimal("Infinity"), _MINUS: Decimal("-Infinity")}
LONGEST = 1_000  # digits that are taken from a client


def packed(value: Decimal) -> bytes:
    """A decimal as bytes."""
    if not value.is_finite():
        sign = _NAN if value.is_nan() else _MINUS if value < 0 else _PLUS
        return struct.pack("!hhHh", 0, 0, sign, 0)
    negative, digits, exponent = value.as_tuple()
    power = int(exponent)
    text = "".join(map(str, digits)) + "0" * max(0, power)
    scale = max(0, -power)
    whole, part = (text[:-scale], text[-scale:].rjust(scale, "0")) if scale else (text, "")
    whole = whole.rjust(-(-len(whole) // 4) * 4, "0")
    part = part.ljust(-(-len(part) // 4) * 4, "0")
    groups = [int((whole + part)[i : i + 4]) for i in range(0, len(whole) + len(part), 4)]
    weight = len(whole) // 4 - 1
    while groups and groups[0] == 0:
        del groups[0]
        weight -= 1
    while groups and groups[-1] == 0:
        del groups[-1]
    sign = _NEGATIVE if negative and groups else 0
    return struct.pack(f"!hhHh{len(groups)}h", len(groups), weight if groups else 0, sign, scale, *groups)


def unpacked(raw: bytes) -> Decimal:
    """Bytes as a decimal. Raises ValueError or struct.error for what is none."""
    count, weight, sign, scale = struct.unpack("!HhHh", raw[:8])
    if sign in _SPECIAL:
        return _SPECIAL[sign]
    groups = struct.unpack(f"!{count}H", raw[8:])
    if 4 * (abs(weight) + count) > LONGEST or not 0 <= scale <= LONGEST or any(group > 9999 for group in groups):
        raise ValueError("this number is too long")
    digits = tuple(map(int, "".join(f"{group:04d}" for group in groups) or "0"))
    value = Decimal((0, digits, 4 * (weight + 1 - count) if count else 0))  # arithmetic would round it to 28 digits
    shown = f"{value:.{scale}f}"
    return Decimal(f"-{shown}" if sign == _NEGATIVE else shown)
