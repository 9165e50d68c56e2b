"""Continual counters are audited on their worst streams, all steps at once and one after another."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any
from zlib import crc32

import pytest
from doubles import Seeded
from stream.examples import EXAMPLES

from discreet.audit import audit
from discreet.noise import SECURE, Entropy

CASES = [(f"{name} {i}", one) for name, some in EXAMPLES.items() for i, one in enumerate(some)]
ALPHA = Fraction(1, 10**9) / (4 * len(CASES))  # each is audited twice in either tier
each = pytest.mark.parametrize(("name", "counter"), CASES, ids=[name for name, _ in CASES])


def stepwise(counter: Any) -> Callable[..., list[int]]:  # noqa: ANN401
    def run(steps: tuple[int, ...], /, *, rng: Entropy = SECURE) -> list[int]:
        state, counts = counter.start(rng), []
        for events in steps:
            state, counted = counter.push(state, events, rng)
            counts.append(counted)
        return counts

    return run


def held(name: str, counter: Any, samples: int) -> None:  # noqa: ANN401
    for way in (counter, stepwise(counter)) if hasattr(counter, "horizon") and hasattr(counter, "push") else (counter,):
        rng = Seeded(crc32(f"{name} {samples}".encode()))
        verdict = audit(way, counter.pairs(), counter.privacy, samples=samples, alpha=ALPHA, rng=rng)
        assert not verdict.refuted, str(verdict)


@each
def test_a_counter_passes_its_audit(name: str, counter: Any) -> None:  # noqa: ANN401
    held(name, counter, 200)


@pytest.mark.slow
@each
def test_a_counter_passes_a_thorough_audit(name: str, counter: Any) -> None:  # noqa: ANN401
    held(name, counter, 5_000)


@pytest.mark.slow
def test_noise_for_one_event_fewer_is_refuted() -> None:
    """A tree of two events with the price of one: the audit would notice."""
    counter = EXAMPLES["tree-counter"][1]
    half = type(counter)(counter.scale / 3, counter.horizon, counter.arity, counter.contribution, counter.neighbours)
    assert audit(half, half.pairs(), counter.privacy, samples=20_000, alpha=ALPHA, rng=Seeded(1)).refuted
