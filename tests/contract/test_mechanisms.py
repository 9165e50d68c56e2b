"""What every registered mechanism must obey: one suite, run over examples of all of them."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import typing
from fractions import Fraction

import numpy as np
import pytest
from audit.examples import EXAMPLES
from doubles import Seeded
from house.tree import ROOT
from mechanisms.chances import Whatever
from release.examples import EXAMPLES as RELEASES
from release.examples import OTHERS

import discreet.mechanisms
import discreet.release
from discreet.errors import Refusal
from discreet.mechanisms import (
    BlockMean,
    ConcentratedTopK,
    Exponential,
    Gaussian,
    GaussianKeys,
    GaussianReal,
    GaussianVector,
    Geometric,
    Laplace,
    LaplaceKeys,
    LaplaceReal,
    LaplaceVector,
    Mean,
    Mechanism,
    OnlineWeights,
    OptimalKeys,
    Pair,
    PermuteAndFlip,
    PostedPrice,
    ProposedMedian,
    ProposeTestRelease,
    PureMedian,
    PureRank,
    Quantile,
    QuantileEnd,
    Quantiles,
    RandomizedResponse,
    RationedPrice,
    RefreshedOnlineWeights,
    RefreshedSparseVector,
    ReportNoisyMax,
    SmoothMedian,
    SmoothRank,
    SparseVector,
    TopK,
    Tulap,
    Variance,
    described,
    rebuilt,
)
from discreet.noise import SECURE
from discreet.privacy import AddRemove, Approximate, Concentrated, Loss, Pure, Replace

AGES = (Fraction(0), Fraction(100), Fraction(1, 10))  # lower, upper, step
ONE, HALF, RARE = Fraction(1), Fraction(1, 2), Fraction(1, 10**6)

# Further ones, of all kinds, with other parameters than those that are audited. The annotation checks the protocol.
MORE: tuple[Mechanism[Whatever, object, Loss], ...] = (
    Laplace.of("0.3", 4, Replace("person")),
    LaplaceVector.of("0.3", 5),
    Gaussian.of("0.3", 4),
    GaussianVector.of("0.3", 5, Replace()),
    Geometric.of("0.3", -5, 5, 2),
    LaplaceReal(ONE, HALF, Fraction(-3), Fraction(3), Fraction(1, 100)),
    GaussianReal(ONE, HALF, Fraction(-3), Fraction(3), Fraction(1, 100)),
    Exponential(HALF, 3, 2, monotone=True),
    PermuteAndFlip(HALF, 3, 2, neighbours=Replace()),
    ReportNoisyMax(ONE, 3, noise="laplace"),
    TopK(ONE, 4, 3, monotone=True),
    ConcentratedTopK(HALF, 4, 3, monotone=True),
    RandomizedResponse.warner(),
    Tulap(HALF, Fraction(1, 10), 1),
    Quantile(ONE, *AGES, Fraction(9, 10)),
    QuantileEnd(ONE, *AGES, Fraction(40), Fraction(9, 10), side="upper"),
    Quantiles(ONE, *AGES, (Fraction(1, 4), HALF, Fraction(3, 4))),
    Mean(ONE, *AGES),
    Variance(ONE, *AGES),
    OptimalKeys(ONE, RARE),
    LaplaceKeys(ONE, RARE, 2),
    GaussianKeys(ONE, RARE, 2),
    PostedPrice(ONE, 1, 10, rule="exponential"),
    RationedPrice(ONE, 1, 10, rule="exponential", supply=3),
    SparseVector.of(1, 5, monotone=True),
    RefreshedSparseVector(HALF, 0, 4, RARE),
    OnlineWeights.of(1, (("region", "north", "south"),), 100, 3, questions=5),
    RefreshedOnlineWeights((("region", "north", "south"),), ONE, HALF, 30, 100, 4, RARE),
    SmoothMedian(ONE, RARE, *AGES),
    PureMedian(ONE, *AGES),
    SmoothRank(ONE, RARE, *AGES, 3, 7),
    PureRank(ONE, *AGES, 3, 7),
    ProposeTestRelease(ONE, ONE, RARE, 5),
    ProposedMedian(ONE, ONE, RARE, Fraction(5), *AGES),
    BlockMean(ONE, *AGES, 9),
)
ALL = {**EXAMPLES, **RELEASES, **OTHERS}
HERE = ("discreet.mechanisms.", "discreet.release.")  # clients have a suite of their own, tests/local/test_contract.py
REGISTRY = {name: kind for name, kind in discreet.mechanisms.REGISTRY.items() if kind.__module__.startswith(HERE)}
OWN = {name for name, kind in REGISTRY.items() if kind.__module__.startswith("discreet.mechanisms.")}
EVERY = [*(example for some in ALL.values() for example in some), *MORE]
NAMES = {kind: name for name, kind in REGISTRY.items()}
IDS = [f"{NAMES[type(one)]} {i}" for i, one in enumerate(EVERY)]
each = pytest.mark.parametrize("mechanism", EVERY, ids=IDS)
kinds = pytest.mark.parametrize("name", sorted(REGISTRY))

MAY_BE_NEGATIVE = {"lower", "upper", "threshold", "around"}  # places on a line, no sizes
MAY_BE_ZERO = MAY_BE_NEGATIVE | {"delta", "epsilon_numbers", "rounds", "rows"}  # what need not be bought, or said


def same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return type(a) is type(b) and a == b


def test_every_registered_mechanism_is_here() -> None:
    assert {type(example) for some in ALL.values() for example in some} == set(REGISTRY.values())
    assert {type(example) for example in MORE} == {REGISTRY[name] for name in OWN}


@kinds
def test_the_room_exports_it(name: str) -> None:
    room = discreet.mechanisms if name in OWN else discreet.release
    assert getattr(room, REGISTRY[name].__name__) is REGISTRY[name]


@pytest.mark.parametrize("name", sorted(OWN))
def test_the_page_of_mechanisms_lists_it(name: str) -> None:
    page = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    assert re.search(rf"(?m)^\| `{REGISTRY[name].__name__}` \| `{name}` \| \S.* \| \S.* \| \S.* \|$", page)


@kinds
def test_its_docstring_states_a_guarantee_a_proof_and_a_source(name: str) -> None:
    text = inspect.cleandoc(vars(REGISTRY[name])["__doc__"])
    parts = dict(re.findall(r"(?ms)^(Guarantee|Proof|Source): (.*?)(?=^\S|\Z)", text))
    assert set(parts) == {"Guarantee", "Proof", "Source"}
    assert all(len(part.split()) >= 2 for part in parts.values())
    for page, heading in re.findall(r'(docs/proofs/\w+\.md)(?:, "([^"]+)")?', " ".join(parts["Proof"].split())):
        proof = (ROOT / page).read_text(encoding="utf-8")
        assert not heading or re.search(rf"(?m)^#+ {re.escape(heading)}$", proof), f"{page} has no part {heading!r}"


@each
def test_it_is_a_frozen_value(mechanism: Whatever) -> None:
    field = dataclasses.fields(mechanism)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, field, Fraction(7))
    twin = dataclasses.replace(mechanism)
    assert twin == mechanism
    assert hash(twin) == hash(mechanism)


@each
def test_its_loss_and_neighbours_make_a_whole_sentence(mechanism: Whatever) -> None:
    loss: Whatever = mechanism.privacy
    assert type(loss) in {Pure, Approximate, Concentrated}
    assert not loss <= 0 * loss  # nothing is free
    assert loss.delta_at(1000) < Fraction(1, 5)
    assert isinstance(mechanism.neighbours, (AddRemove, Replace))


@each
def test_it_names_its_worst_inputs_and_runs_on_them(mechanism: Whatever) -> None:
    pairs = mechanism.pairs()
    assert pairs
    for pair in pairs:
        assert isinstance(pair, Pair)
        assert not same(pair.left, pair.right)
        assert len(pair.why.split()) >= 3
        for data in (pair.left, pair.right):
            mechanism(data)  # on the secure source it does not raise
            once, again = (mechanism(data, rng=Seeded(1)) for _ in range(2))
            assert same(once, again)  # no randomness but the argument
    inputs = [data for pair in pairs for data in (pair.left, pair.right)]
    assert any(
        not same(mechanism(x, rng=Seeded(0)), mechanism(x, rng=Seeded(s))) for x in inputs for s in range(1, 100)
    )


@each
def test_randomness_is_a_keyword_that_defaults_to_the_secure_source(mechanism: Whatever) -> None:
    rng = inspect.signature(type(mechanism).__call__).parameters["rng"]
    assert rng.kind is inspect.Parameter.KEYWORD_ONLY
    assert rng.default is SECURE


@each
def test_it_goes_through_a_door_and_back(mechanism: Whatever) -> None:
    sent = json.loads(json.dumps(described(mechanism)))
    back = rebuilt(sent["name"], sent["parameters"])
    assert back == mechanism
    assert back.privacy == mechanism.privacy
    assert described(back) == sent


@each
def test_nonsense_is_refused_and_named(mechanism: Whatever) -> None:
    hints = typing.get_type_hints(type(mechanism))
    for field in dataclasses.fields(mechanism):
        name, kind = field.name, hints[field.name]
        for nonsense in nonsenses(name, kind):
            with pytest.raises(Refusal) as refused:
                dataclasses.replace(mechanism, **{name: nonsense})
            said = "nonsense" if isinstance(nonsense, tuple) else str(nonsense)
            assert name in str(refused.value) or said in str(refused.value), name


def nonsenses(name: str, kind: object) -> list[object]:
    """Values that a field of this name and type must refuse."""
    if typing.get_origin(kind) is tuple:
        return [("nonsense",)]
    if kind not in (Fraction, int):
        return ["nonsense"] if kind in (bool, str) else [None, "nonsense"]
    bad: list[object] = [float("nan"), float("inf"), "nonsense", None]
    bad += [] if name in MAY_BE_NEGATIVE else [-1]
    return bad if name in MAY_BE_ZERO else [*bad, 0]


@each
def test_its_error_grows_with_the_confidence_and_refuses_certainty(mechanism: Whatever) -> None:
    levels = ["0.01", "0.1", "0.5", "0.9", "0.95", "0.99", "0.9999", Fraction(10**9 - 1, 10**9)]
    errors = [mechanism.error(level) for level in levels]
    assert mechanism.error() == mechanism.error("0.95")
    if mechanism.error() is None:  # known after paying
        assert errors == [None] * len(levels)
        errors = [0, 1]
    assert all(isinstance(error, (int, Fraction)) and not isinstance(error, bool) for error in errors)
    assert errors == sorted(errors)
    assert errors[0] >= 0
    assert errors[-1] > 0
    for nonsense in (0, 1, -1, "1.5", float("nan")):
        with pytest.raises(Refusal, match="confidence"):
            mechanism.error(nonsense)
