"""Continual counters are audited on their worst streams, all steps at once and one after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any
from zlib import crc32

import pytest
from doubles import Seeded
from stream.examples import EXAMPLES

from discreet.audit import audit
from discreet.noise import SECURE, Entropy
from discreet.stream import BufferedCounter, SquareRootCounter, Stream, TreeCounter

CASES = [(f"{name} {i}", one) for name, some in EXAMPLES.items() for i, one in enumerate(some)]
ALPHA = Fraction(1, 10**9) / (4 * len(CASES) + 6)  # each is audited twice in either tier, six once more
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


TWICE: dict[str, Any] = {
    "tree": TreeCounter.of(2, 2, 2),
    "square root": SquareRootCounter.of(Fraction(1, 2), 2, 2),
    "buffered": BufferedCounter.of(Fraction(1, 2), 2, 2),
    "stream by a tree": Stream(TreeCounter.of(2, 2, 2), ("a", "b"), 2),
    "stream by a square root": Stream(SquareRootCounter.of(Fraction(1, 2), 2, 2), ("a", "b"), 2),
    "stream by fading sums": Stream(BufferedCounter.of(Fraction(1, 2), 2, 2), ("a", "b"), 2),
}


def halved(counter: Any) -> Any:  # noqa: ANN401
    """The same with half the noise."""
    if isinstance(counter, Stream):
        return replace(counter, counter=halved(counter.counter))
    if isinstance(counter, TreeCounter):
        return replace(counter, scale=counter.scale / 2)
    return replace(counter, variance=counter.variance / 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", TWICE)
def test_two_events_of_one_unit_are_protected_by_the_whole_noise_and_not_by_half(name: str) -> None:
    counter = TWICE[name]
    for way, refuted in ((counter, False), (halved(counter), True)):
        verdict = audit(way, counter.pairs(), counter.privacy, samples=20_000, alpha=ALPHA, rng=Seeded(3))
        assert verdict.refuted == refuted, str(verdict)
