"""Every mechanism of this room names its worst inputs, passes its audit on them, and goes through a door unchanged.

False-alarm rate: 1e-9 for all of them together.
"""

from __future__ import annotations

import inspect
import json
from fractions import Fraction
from typing import Any
from zlib import crc32

import pytest
from doubles import Seeded
from validity.examples import EXAMPLES

from discreet.audit import audit
from discreet.mechanisms import Pair, described, rebuilt

CASES = [(f"{name} {i}", one) for name, every in EXAMPLES.items() for i, one in enumerate(every)]
ALPHA = Fraction(1, 10**9) / (2 * len(CASES))
EACH = pytest.mark.parametrize("example", [one for _, one in CASES], ids=[name for name, _ in CASES])


def passes(example: Any, samples: int) -> bool:  # noqa: ANN401
    return not audit(example, samples=samples, alpha=ALPHA, rng=Seeded(crc32(repr(example).encode()))).refuted


@EACH
def test_each_names_its_worst_inputs(example: Any) -> None:  # noqa: ANN401
    assert example.pairs()
    for pair in example.pairs():
        assert isinstance(pair, Pair)
        assert pair.why
        assert repr(pair.left) != repr(pair.right)


@pytest.mark.parametrize("name", ["binomial-test", "population-share", "thresholdout"])
def test_some_pass_a_short_audit(name: str) -> None:
    assert passes(EXAMPLES[name][0], 100)


@pytest.mark.slow
@EACH
def test_each_passes_its_audit(example: Any) -> None:  # noqa: ANN401
    assert passes(example, 3000)


@EACH
def test_each_goes_through_a_door_unchanged(example: Any) -> None:  # noqa: ANN401
    told = json.loads(json.dumps(described(example)))
    assert rebuilt(told["name"], told["parameters"]) == example


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_says_what_it_promises(name: str) -> None:
    text = inspect.getdoc(type(EXAMPLES[name][0])) or ""
    assert all(part in text for part in ("Guarantee:", "Proof: docs/proofs/", "Source:"))
