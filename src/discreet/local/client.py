"""What every client of this room shares: a name, a price, and answers that are read without a word about them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.declared.cells import cells, real
from discreet.errors import Refusal
from discreet.exact import Number, positive, share, spoken
from discreet.interval import log, simpler_up
from discreet.mechanisms.mechanism import USUAL
from discreet.mechanisms.registry import registered
from discreet.privacy import Replace

client = registered  # a client is a mechanism like all others, and goes through a door as they do

PERSON = Replace("person")  # any two values of one person, who reports either way
LEAST, MOST = Fraction(1, 10**6), Fraction(20)  # of ε: there, 64 binary digits lose less than 1e-9 of it
TIMES = "mM"  # kinds of array: moments and durations are no numbers, but their lists may be whole ones
_MOST_WRITTEN = 1 << 18
_LONGEST = 10**600  # of a fraction's two parts


def brief(value: Fraction, name: str) -> Fraction:
    """A number that goes into the description of a client and comes out again: of at most so many digits."""
    if max(abs(value.numerator), value.denominator) >= _LONGEST:
        raise Refusal(f"expected {name} as a fraction of numbers below 1e600, got {name}={spoken(value)}")
    return value


def price(epsilon: Number) -> Fraction:
    """ε read exactly, if it lies where the proofs of this room hold."""
    known = brief(positive(epsilon, "epsilon"), "epsilon")
    if not LEAST <= known <= MOST:
        raise Refusal(
            f"expected epsilon between 1e-6 and 20, got epsilon={spoken(known)}",
            hint="less says nothing, and more hides nothing",
        )
    return known


def held(values: ArrayLike | Iterable[object]) -> NDArray[np.generic]:
    """What people have, in `cells`; what is masked is nothing."""
    known = cells(values)
    if isinstance(values, np.ma.MaskedArray) and known.dtype.kind not in TIMES:  # whose cells are nothing anyway
        cut = known.astype(object)
        cut[np.ma.getmaskarray(values)] = None
        return cut
    return known


def number(cell: object) -> Fraction | float:
    """The number that a person has, as `real` reads it; NaN, if it is none, whatever it is.

    An array without a shape is what it holds.
    """
    try:
        if isinstance(cell, np.ndarray) and not cell.ndim:
            return math.nan if np.ma.is_masked(cell) else real(np.asarray(cell)[()])
        return real(cell)
    except Exception:  # noqa: BLE001  # a number of a stranger's making, which breaks when it is read
        return math.nan


def answer(value: object, choices: int) -> int:
    """The value that a cell equals; refused if it is none of those that a person can have."""
    known = number(value)
    if isinstance(known, Fraction) and known.denominator == 1 and 0 <= known < choices:
        return int(known)
    raise off_list(choices)


def off_list(choices: int) -> Refusal:
    """Said of an answer that is not on the list: the same of all of them, and never which it was."""
    return Refusal(
        f"this answer is not on the list: answers are 0 to {choices - 1}", hint="nothing was sent or counted"
    )


def answers(values: NDArray[np.generic], choices: int) -> NDArray[np.int64]:
    """The same for many: all of them are refused if one is."""
    if values.dtype.kind in "iub":
        whole = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64)
        if np.any((whole < 0) | (whole >= choices)):
            raise off_list(choices)
        return whole.astype(np.int64)
    if values.dtype.kind in TIMES and values.size:
        raise off_list(choices)
    return np.array([answer(cell, choices) for cell in values.ravel().tolist()], dtype=np.int64)


def written_down(probabilities: int) -> None:
    """Refuse a channel of more than 2^18 probabilities."""
    if probabilities > _MOST_WRITTEN:
        raise Refusal(
            f"a channel of {spoken(Fraction(probabilities))} probabilities is not written down",
            hint="take fewer values or a coarser grid",
        )


def chunks(size: int, each: int) -> Iterator[slice]:
    """Slices of so many, which keep the arrays in between in the processor's cache."""
    return (slice(start, min(start + each, size)) for start in range(0, size, each))


def hoeffding(people: int, confidence: Number = USUAL) -> Fraction:
    """√(ln(2/β) / 2n): a mean of n independent numbers in [0, 1] is so near to its own (Hoeffding 1963, Theorem 2)."""
    rare = 1 - share(confidence, "confidence")
    return simpler_up((log(2 / rare) / (2 * people)).sqrt().up)


def narrowest(values: int) -> np.dtype[Any]:
    """The shortest unsigned integer that holds 0, …, values − 1, little end first."""
    return np.dtype(next(form for form in ("u1", "<u2", "<u4", "<u8") if values <= 1 << 8 * np.dtype(form).itemsize))
