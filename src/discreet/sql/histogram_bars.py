"""Bars of histograms of sizes, as SQL: whole numbers that say between which powers of two a number lies."""

from __future__ import annotations


def bar(value: str) -> str:
    """A bar of a histogram of numbers of rows: 0 below 2^−20, else 21 + ⌊log₂ |x|⌋, at most 61, with the sign of x."""
    size = f"abs(CAST({value} AS DOUBLE))"
    place = f"least(21 + floor(log2(greatest({size}, 1e-300))), 61)"
    return (
        f"TRY_CAST(CASE WHEN {size} < power(2, -20) THEN 0 ELSE sign(CAST({value} AS DOUBLE)) * {place} END AS BIGINT)"
    )


def band(value: str) -> str:
    """A band of a histogram of sizes: 0 of 0 alone, else 20 + ⌈log₂ |x|⌉ but at least 1, with the sign of x.

    Beyond 2^40 a band is eight doublings wide: 60 + ⌈(log₂ |x| − 40)/8⌉, at most 68. NaN is in none. A logarithm may be
    rounded to a whole number: so the power of two is compared with.
    """
    number = f"CAST({value} AS DOUBLE)"
    size = f"least(greatest(abs({number}), 1e-300), power(2, 100))"
    near = f"ceil(log2({size}))"
    further = f"CASE WHEN {size} > power(2, {near}) THEN 1 WHEN {size} <= power(2, {near} - 1) THEN -1 ELSE 0 END"
    power = f"({near} + {further})"
    place = f"CASE WHEN {power} <= 40 THEN greatest(20 + {power}, 1) ELSE least(60 + ceil(({power} - 40) / 8), 68) END"
    return f"TRY_CAST(CASE WHEN NOT isnan({number}) THEN sign({number}) * {place} END AS BIGINT)"
