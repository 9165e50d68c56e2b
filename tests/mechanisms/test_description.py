"""Descriptions: the same for equal values, another for every other one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pytest
from audit.examples import EXAMPLES

from discreet.errors import Refusal
from discreet.mechanisms import REGISTRY, Laplace, Takes, described, rebuilt
from discreet.mechanisms.registry import description, digest


@dataclass(frozen=True)
class Weighted:
    """A mechanism with everything that one may hold."""

    takes: ClassVar[Takes] = Takes.ROWS
    weights: Any
    scale: float = 0.1
    inner: Any = None
    made: Callable[[int], int] | None = field(default=None)


LONG = np.arange(5_000.0)


def test_one_cell_of_five_thousand_makes_another_key() -> None:
    other = LONG.copy()
    other[2_500] = np.nextafter(other[2_500], 0)
    assert repr(LONG) == repr(other)  # which is why a key is no repr
    assert digest(Weighted(LONG)) == digest(Weighted(LONG.copy()))
    assert digest(Weighted(LONG)) != digest(Weighted(other))


def test_whatever_differs_is_described_differently() -> None:
    values = [
        None, True, False, 0, 1, 1.0, 0.1, float("nan"), float("inf"), "1", "", b"1", Fraction(1, 3), Fraction(1),
        (), (1,), (1, 2), ((1, 2),), frozenset({1, 2}), {1: 2}, {2: 1}, Takes.ROWS, Takes.VECTOR, Weighted, Laplace,
        Weighted(1), Weighted(1.0), Weighted(1, scale=0.2), Weighted(1, inner=Weighted(1)), LONG, LONG[:4_999],
        LONG.astype(np.float32), LONG.reshape(50, 100), np.array([1, 2]), np.array([1.0, 2.0]),
    ]  # fmt: skip
    for one, other in combinations(values, 2):
        assert digest(one) != digest(other), (one, other)
    for value in values:
        assert digest(value) == digest(value)


def test_the_order_of_a_set_means_nothing() -> None:
    words = [f"w{i}" for i in range(50)]
    assert description(frozenset(words)) == description(frozenset(reversed(words)))


def test_a_function_is_like_nothing_else() -> None:
    """Two of them may share a name and do different things, so no answer of one is ever taken for the other's."""
    twice = Weighted(1, made=lambda x: 2 * x)
    assert digest(twice) != digest(twice)


def test_every_registered_mechanism_is_described_by_its_parameters_alone() -> None:
    found = {digest(mechanism): mechanism for mechanisms in EXAMPLES.values() for mechanism in mechanisms}
    for key, mechanism in found.items():
        assert digest(replace(mechanism)) == key
    assert len(found) == len({repr(mechanism) for mechanism in found.values()})


def test_doubles_and_mechanisms_inside_go_through_a_door_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Outer:
        takes: ClassVar[Takes] = Takes.ROWS
        share: float
        inner: Laplace
        some: tuple[float, ...] = ()

    Outer.__annotations__ = {"takes": ClassVar[Takes], "share": float, "inner": Laplace, "some": tuple[float, ...]}
    monkeypatch.setitem(REGISTRY, "outer", Outer)
    outer = Outer(0.1, Laplace(Fraction(1, 3)), (1e-300, float("inf")))
    said = described(outer)
    assert rebuilt(said["name"], said["parameters"]) == outer
    for wrong in (
        {"share": 0.1},
        {"share": {"double": "0x" + "1" * 90}},
        {"share": {"double": "tenth"}},
        {"share": {"double": "0x1p0", "more": 1}},
        {"inner": {"name": "geometric"}},
        {"inner": {"name": "outer", "parameters": said["parameters"]}},
    ):
        with pytest.raises(Refusal, match=r"share|inner"):
            rebuilt("outer", {**said["parameters"], **wrong})  # type: ignore[dict-item]
