"""Which neighbouring inputs to compare: those that a mechanism names as its worst, or those that are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from discreet.errors import Refusal
from discreet.mechanisms.mechanism import Pair

Pairs: TypeAlias = Iterable[Pair[Any] | tuple[Any, Any]]


def named(pairs: Pairs) -> list[Pair[Any]]:
    """Each pair with a reason, and at least one."""
    known = [pair if isinstance(pair, Pair) else Pair(pair[0], pair[1], "as given") for pair in pairs]
    if not known:
        raise Refusal("expected at least one pair of neighbouring inputs, got none")
    return known


def neighbouring(mechanism: Callable[..., object], pairs: Pairs | None) -> list[Pair[Any]]:
    """The pairs that are given, else the mechanism's own."""
    if pairs is not None:
        return named(pairs)
    own = getattr(mechanism, "pairs", None)
    if not callable(own):
        raise Refusal(f"{mechanism!r} names no neighbouring inputs", hint="pass pairs=[(left, right)]")
    return named(own())
