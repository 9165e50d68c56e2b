"""Every registered mechanism names its worst inputs and passes its audit on them.

False-alarm rate: 1e-9 for all mechanisms together, shared evenly (union bound). The coins are fixed in this suite; a
change of code changes them, so a red test is evidence and not bad luck.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any
from zlib import crc32

import pytest
from audit.examples import COSTLY, EXAMPLES
from doubles import Seeded
from learn.examples import EXAMPLES as MODELS
from learn.test_score import EXAMPLES as SCORES
from local.examples import EXAMPLES as CLIENTS
from release.examples import EXAMPLES as RELEASES
from release.examples import OTHERS
from stream.examples import EXAMPLES as COUNTERS
from validity.examples import EXAMPLES as TESTS

import discreet.mechanisms
import discreet.release
from discreet.audit import audit
from discreet.mechanisms import REGISTRY, Pair

SAMPLES, FEWER, THOROUGH = 3_000, 1_000, 20_000
CASES = [(f"{name} {i}", example) for name, examples in EXAMPLES.items() for i, example in enumerate(examples)]
ALPHA = Fraction(1, 10**9) / (2 * len(CASES))  # each is audited once in either tier
QUICK = [(name, example, FEWER if name.split()[0] in COSTLY else SAMPLES) for name, example in CASES]


def named(cases: list[tuple[str, Any, int]]) -> list[Any]:
    return [pytest.param(example, samples, id=name) for name, example, samples in cases]


def test_every_registered_mechanism_has_an_example_of_its_own_kind() -> None:
    every = {
        **EXAMPLES,
        **RELEASES,
        **OTHERS,
        **CLIENTS,
        **MODELS,
        **COUNTERS,
        **TESTS,
        "model-score": SCORES,
    }  # what is not of EXAMPLES is audited in its own room
    ours = {name for name, kind in REGISTRY.items() if kind.__module__.startswith("discreet.")}  # not a test's tenants
    assert sorted(ours - set(every)) == [], "add them to tests/audit/examples.py"
    assert sorted(set(every) - set(REGISTRY)) == []
    assert (
        len(every)
        == len(EXAMPLES) + len(RELEASES) + len(OTHERS) + len(CLIENTS) + len(MODELS) + len(COUNTERS) + len(TESTS) + 1
    )
    assert [name for name, examples in every.items() if not examples] == []
    assert [name for name, examples in every.items() for one in examples if type(one) is not REGISTRY[name]] == []
    assert set(REGISTRY) >= COSTLY
    assert discreet.mechanisms.REGISTRY is REGISTRY


@pytest.mark.parametrize(("name", "example"), CASES, ids=[name for name, _ in CASES])
def test_every_mechanism_names_its_worst_inputs(name: str, example: Any) -> None:  # noqa: ANN401
    assert callable(getattr(type(example), "pairs", None)), f"{name} declares no pairs()"
    pairs = example.pairs()
    assert len(pairs) >= 1
    for pair in pairs:
        assert isinstance(pair, Pair)
        assert pair.why
        assert repr(pair.left) != repr(pair.right)


def passes(example: Any, samples: int, tier: str) -> None:  # noqa: ANN401
    verdict = audit(example, samples=samples, alpha=ALPHA, rng=Seeded(crc32(f"{tier} {example!r}".encode())))
    assert not verdict.refuted, str(verdict)


@pytest.mark.parametrize(("example", "samples"), named(QUICK))
def test_every_mechanism_passes_its_audit(example: Any, samples: int) -> None:  # noqa: ANN401
    passes(example, samples, "quick")


@pytest.mark.slow
@pytest.mark.parametrize("example", [example for _, example in CASES], ids=[name for name, _ in CASES])
def test_every_mechanism_passes_a_longer_audit(example: Any) -> None:  # noqa: ANN401
    passes(example, THOROUGH, "thorough")


@pytest.mark.parametrize(
    ("example", "scale"),
    [(EXAMPLES["laplace"][0], 2), (EXAMPLES["gaussian"][0], 3), (EXAMPLES["laplace-vector"][0], 2)],
    ids=["laplace", "gaussian", "laplace-vector"],
)
def test_the_same_audit_would_fail_a_mechanism_that_moved_further(example: Any, scale: int) -> None:  # noqa: ANN401
    """Values a few times further apart than was promised: what an audit of this size is able to see."""

    def scaled(data: Any) -> Any:  # noqa: ANN401
        return tuple(scale * part for part in data) if isinstance(data, tuple) else scale * data

    pairs = [(scaled(pair.left), scaled(pair.right)) for pair in example.pairs()]
    assert audit(example, pairs, samples=SAMPLES, alpha=ALPHA, rng=Seeded(1)).refuted
