"""What every client of this room shares: a name, a price, and answers that are read without a word about them."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import Refusal
from discreet.exact import Number, exact, positive, share, shown, spoken
from discreet.interval import log, simpler_up
from discreet.mechanisms.grid import cells, real
from discreet.mechanisms.mechanism import USUAL
from discreet.privacy import Replace

C = TypeVar("C", bound=type[Any])
CLIENTS: dict[str, type[Any]] = {}

PERSON = Replace("person")  # any two values of one person, who reports either way
LEAST, MOST = Fraction(1, 10**6), Fraction(20)  # of ε: there, 64 binary digits lose less than 1e-9 of it
TIMES = "mM"  # kinds of array: moments and durations are no numbers, but their lists may be whole ones
_MOST_WRITTEN = 1 << 18


def client(name: str) -> Callable[[C], C]:
    """Give a client its public name. The meaning of a name never changes; a new meaning gets a new name."""

    def record(kind: C) -> C:
        if CLIENTS.setdefault(name, kind) is not kind:
            raise ValueError(f"two clients are called {name!r}")
        return kind

    return record


def described(one: object) -> dict[str, Any]:
    """The name and parameters of a client, as JSON can hold them: rationals as text, exactly."""
    name = next((name for name, kind in CLIENTS.items() if type(one) is kind), None)
    if name is None:
        raise Refusal(f"{type(one).__name__} is not a client of this room", hint=f"use one of {sorted(CLIENTS)}")
    fields = {field.name: getattr(one, field.name) for field in dataclasses.fields(CLIENTS[name])}
    plain = {key: str(value) if isinstance(value, Fraction) else value for key, value in fields.items()}
    return {"name": name, "parameters": plain}


def rebuilt(name: object, parameters: object) -> Any:  # noqa: ANN401  # which client, the name says
    """The client of this name and parameters, whatever came through a door, checked as if a person wrote it."""
    kind = CLIENTS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise Refusal(f"there is no client called {shown(name)}", hint=f"use one of {sorted(CLIENTS)}")
    fields = {field.name: field for field in dataclasses.fields(kind)}
    if not isinstance(parameters, Mapping) or not set(parameters) <= set(fields):
        raise Refusal(f"expected the parameters of {name} by their names {list(fields)}, got {shown(parameters)}")
    missing = [key for key, field in fields.items() if key not in parameters and field.default is dataclasses.MISSING]
    if missing:
        raise Refusal(f"{name} needs its parameter {missing}")
    kinds = typing.get_type_hints(kind)
    return kind(**{key: _typed(value, kinds[key], key) for key, value in parameters.items()})


def _typed(value: object, kind: type, name: str) -> object:
    if kind is Fraction and type(value) in (int, str):
        return exact(typing.cast("int | str", value), name)
    if kind is int and type(value) is int:
        return value
    raise Refusal(f"expected {name} as {kind.__name__}, got {shown(value)}")


def price(epsilon: Number) -> Fraction:
    """ε read exactly, if it lies where the proofs of this room hold."""
    known = positive(epsilon, "epsilon")
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
    """The number that a person has, as `real` reads it: nothing that a person has makes a client raise.

    An array without a shape is what it holds.
    """
    try:
        if isinstance(cell, np.ndarray) and not cell.ndim:
            return math.nan if np.ma.is_masked(cell) else real(np.asarray(cell)[()])
        return real(cell)
    except Exception:  # noqa: BLE001  # a number of a stranger's making, which breaks when it is read
        return math.nan


def answer(value: object, choices: int) -> int:
    """The value that a cell equals, 0 if it is none."""
    known = number(value)
    among = isinstance(known, Fraction) and known.denominator == 1 and 0 <= known < choices
    return int(known) if among else 0


def answers(values: NDArray[np.generic], choices: int) -> NDArray[np.int64]:
    """The same for many."""
    if values.dtype.kind in "iub":
        whole = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64)
        return np.where((whole >= 0) & (whole < choices), whole, 0).astype(np.int64)
    if values.dtype.kind in TIMES:
        return np.zeros(values.size, dtype=np.int64)
    return np.array([answer(cell, choices) for cell in values.ravel().tolist()], dtype=np.int64)


def written_down(probabilities: int) -> None:
    """Refuse a channel of more than 2^18 probabilities."""
    if probabilities > _MOST_WRITTEN:
        raise Refusal(
            f"a channel of {probabilities} probabilities is not written down",
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
