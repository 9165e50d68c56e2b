"""What every release of counts obeys, and that its promise holds: the suites of all mechanisms, run on these.

False-alarm rate of the audits: 1e-9 for each. What draws cost, exactly, is in test_transcripts.py.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from fractions import Fraction
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from doubles import Seeded
from house.tree import ROOT
from release.examples import EXAMPLES, OTHERS

import discreet.release
from discreet.audit import audit
from discreet.errors import Refusal
from discreet.mechanisms import REGISTRY, Pair
from discreet.noise import SECURE
from discreet.privacy import AddRemove, Pure, Replace
from discreet.release import AdaptiveGrid, Automatic, Histogram, MultiplicativeWeights, Partition, UniformGrid

EVERY = [(f"{name} {i}", one) for name, some in EXAMPLES.items() for i, one in enumerate(some)]
ALPHA = Fraction(1, 10**9)  # of a false alarm of one audit
each = pytest.mark.parametrize("release", [one for _, one in EVERY], ids=[name for name, _ in EVERY])
LATER = (Partition, Automatic, UniformGrid, AdaptiveGrid)  # whose error depends on the data: known after paying
kinds = pytest.mark.parametrize("name", sorted(EXAMPLES))


def test_every_release_of_counts_has_an_example_of_its_own_kind() -> None:
    here = {name for name, kind in REGISTRY.items() if kind.__module__.startswith("discreet.release.")}
    assert set(EXAMPLES) == here - set(OTHERS)
    assert [name for name, some in EXAMPLES.items() for one in some if type(one) is not REGISTRY[name]] == []


@kinds
def test_the_room_exports_it_and_its_page_lists_it(name: str) -> None:
    assert getattr(discreet.release, REGISTRY[name].__name__) is REGISTRY[name]
    page = (ROOT / "docs" / "releases.md").read_text(encoding="utf-8")
    assert re.search(rf"(?m)^\| `{REGISTRY[name].__name__}` \| `{name}` \| \S.*\|$", page)


@each
def test_it_is_a_frozen_value_with_a_whole_promise(release: Any) -> None:  # noqa: ANN401
    with pytest.raises(dataclasses.FrozenInstanceError):
        release.epsilon = Fraction(7)
    assert dataclasses.replace(release) == release
    assert hash(dataclasses.replace(release)) == hash(release)
    assert release.privacy == Pure(release.epsilon)
    assert isinstance(release.neighbours, (AddRemove, Replace))
    assert release.distance == release.most * (2 if isinstance(release.neighbours, Replace) else 1)
    rng = inspect.signature(type(release).__call__).parameters["rng"]
    assert rng.kind is inspect.Parameter.KEYWORD_ONLY
    assert rng.default is SECURE


@each
def test_it_names_neighbours_and_runs_on_them(release: Any) -> None:  # noqa: ANN401
    for pair in release.pairs():
        assert isinstance(pair, Pair)
        assert int(np.abs(pair.left - pair.right).sum()) == release.distance
        assert len(pair.why.split()) >= 3
        for data in (pair.left, pair.right):
            release(data)
            once, again = (release(data, rng=Seeded(1)) for _ in range(2))
            assert once == again
            assert isinstance(once, Histogram)
            assert once.shape == release.shape
    seen = {release(release.pairs()[0].left, rng=Seeded(seed)) for seed in range(50)}
    assert len(seen) > 1


@each
def test_nonsense_is_refused_and_named(release: Any) -> None:  # noqa: ANN401
    hints = typing.get_type_hints(type(release))
    for field in dataclasses.fields(release):
        for nonsense in nonsenses(field.name, hints[field.name]):
            with pytest.raises(Refusal, match=f"{field.name}|nonsense|{re.escape(str(nonsense))}"):
                dataclasses.replace(release, **{field.name: nonsense})


def nonsenses(name: str, kind: object) -> list[object]:
    if typing.get_origin(kind) is tuple:
        return [("nonsense",), None, (-1,), *([(0,), (2, 2, 2), (1 << 23,)] if name == "shape" else [])]
    bad: list[object] = [None, "nonsense", float("nan"), -1]
    return bad if name == "rounds" else [*bad, 0]


@each
def test_a_price_that_no_float_holds_is_refused(release: Any) -> None:  # noqa: ANN401
    for price in (Fraction(1, 10**12), Fraction(10**9)):
        with pytest.raises(Refusal, match="epsilon"):
            dataclasses.replace(release, epsilon=price)


@each
def test_its_error_grows_with_the_confidence_and_refuses_certainty(release: Any) -> None:  # noqa: ANN401
    errors = [release.error(level) for level in ("0.01", "0.5", "0.95", "0.9999")]
    if isinstance(release, LATER):
        assert errors == [None] * 4
    else:
        assert all(isinstance(error, (int, Fraction)) for error in errors)
        assert errors == sorted(errors)
        assert errors[-1] > 0
    for nonsense in (0, 1, -1, float("nan")):
        with pytest.raises(Refusal, match="confidence"):
            release.error(nonsense)


@each
def test_no_counts_make_it_raise(release: Any) -> None:  # noqa: ANN401
    for fill in (0, 1, -5, (1 << 63) - 1, -(1 << 63)):
        told = release(np.full(release.shape, fill, dtype=np.int64), rng=Seeded(1))
        assert np.all(np.isfinite(told.counts))
        assert told.nonnegative().counts.min() >= 0
        assert told.whole().counts.dtype == np.int64


@each
def test_a_wrong_shape_is_refused(release: Any) -> None:  # noqa: ANN401
    with pytest.raises(Refusal, match="shape"):
        release(np.zeros(7, dtype=np.int64))


def told(release: Any) -> Any:  # noqa: ANN401
    """What an auditor sees: the counts, and into which parts they were divided."""

    def run(data: Any, *, rng: Any) -> Any:  # noqa: ANN401
        histogram = release(data, rng=rng)
        return (*np.round(histogram.counts.ravel(), 6).tolist(), *histogram.part.tolist())

    return run


def held(release: Any, samples: int) -> None:  # noqa: ANN401
    pairs = [(pair.left, pair.right) for pair in release.pairs()]
    rng = Seeded(crc32(repr(release).encode()))
    verdict = audit(told(release), pairs, claim=release.privacy, samples=samples, alpha=ALPHA, rng=rng)
    assert not verdict.refuted, str(verdict)


@pytest.mark.slow
@each
def test_its_promise_withstands_an_audit(release: Any) -> None:  # noqa: ANN401
    held(release, 1_500 if isinstance(release, MultiplicativeWeights) else 6_000)  # which takes ten times as long


SLOW = pytest.param("multiplicative-weights", 20, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("name", "times"),
    [("hierarchy", 8), ("wavelet", 8), ("partition", 4), ("adaptive-grid", 6), SLOW],
)
@pytest.mark.slow
def test_the_same_audit_refutes_a_distance_several_times_as_large(name: str, times: int) -> None:
    release = EXAMPLES[name][0]
    pairs = [(pair.left, pair.left + times * (pair.right - pair.left)) for pair in release.pairs()]
    assert audit(told(release), pairs, claim=release.privacy, samples=1_000, alpha=ALPHA, rng=Seeded(1)).refuted
