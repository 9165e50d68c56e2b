"""What every mechanism that fits a model must obey, and every estimator: one suite, over examples of all of them."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from typing import Any
from zlib import crc32

import pytest
from doubles import Seeded
from house.tree import ROOT
from learn.examples import ESTIMATORS, EXAMPLES, HUGE, Declared
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import discreet.learn
from discreet.audit import audit
from discreet.errors import Refusal
from discreet.learn.model_release import estimators, model_class
from discreet.mechanisms import REGISTRY, Pair, Takes, described, rebuilt
from discreet.noise import SECURE
from discreet.privacy import AddRemove, Pure

HERE = "discreet.learn."
ROOM = {name: kind for name, kind in REGISTRY.items() if kind.__module__.startswith(HERE)}
KINDS = {name: kind for name, kind in ROOM.items() if hasattr(kind, "model")}
EVERY = [(f"{name} {i}", one) for name, some in EXAMPLES.items() for i, one in enumerate(some)]
each = pytest.mark.parametrize("mechanism", [one for _, one in EVERY], ids=[name for name, _ in EVERY])
kinds = pytest.mark.parametrize("name", sorted(KINDS))
ALPHA = 1e-9 / len(EVERY)
SAMPLES = 60  # for each pair
QUICK = {"LinearRegression"}  # the others take longer

# Checks of scikit-learn that cannot hold here, and why.
SILENT = (
    "a label that is infinite or no class counts as the bound, or not at all: to refuse it would tell that it is there"
)
NOISE = "two fits of the same rows have different noise, or break a tie by different coins"
EXPECTED = {
    "check_supervised_y_no_nan": SILENT,
    "check_classifiers_regression_target": SILENT,
    "check_estimators_empty_data_messages": "no rows are fitted like any: to refuse would tell them from one row",
    "check_clustering": "which cluster a row is in is not kept: what is kept may be published",
    "check_dtype_object": "a cell that is no number leaves its row out: to refuse would tell that somebody has it",
}
DRAWN = {
    "GaussianMixture",
    "SparseRegression",
    "OfRules",
    "KMeans",
    "LowRank",
    "OfForest",
    "OfTree",
    "RandomForestRegressor",
    "DecisionTreeRegressor",
}  # by coins, at any price
DECLARED = ("check_supervised_y_no_nan", "check_estimators_empty_data_messages")
NOISY = (  # these two fits agree, or not, by the noise: neither is a failure
    "check_classifier_data_not_an_array",
    "check_regressor_data_not_an_array",
    "check_supervised_y_2d",
    "check_regressors_int",
    "check_fit_idempotent",
)


def tiered(one: Any, name: str) -> Any:  # noqa: ANN401
    """Solvers take milliseconds a call: one example of one kind of them is audited in the quick tier."""
    quick = name.split(maxsplit=1)[0] == "linear-regression" or name in {"logistic-regression", "logistic-regression 0"}
    return pytest.param(one, id=name, marks=() if quick else pytest.mark.slow)


def failing(estimator: Any) -> dict[str, str]:  # noqa: ANN401
    """What is expected to fail of an estimator, and why."""
    told = isinstance(estimator, Declared)  # its classes are read from rows, which refuses what is no class
    return {name: why for name, why in EXPECTED.items() if not (told and name in DECLARED)}


def test_every_mechanism_is_here_and_is_offered_by_its_name() -> None:
    assert set(EXAMPLES) == set(KINDS)
    assert [name for name, some in EXAMPLES.items() for one in some if type(one) is not KINDS[name]] == []
    assert {name for name in KINDS if hasattr(KINDS[name], "model")} <= set(estimators())


@kinds
def test_its_docstring_states_a_guarantee_a_proof_and_a_source(name: str) -> None:
    text = inspect.cleandoc(vars(KINDS[name])["__doc__"])
    parts = dict(re.findall(r"(?ms)^(Guarantee|Proof|Source): (.*?)(?=^\S|\Z)", text))
    assert set(parts) == {"Guarantee", "Proof", "Source"}
    assert getattr(discreet.learn, KINDS[name].__name__) is KINDS[name]
    for page, heading in re.findall(r'(docs/proofs/\w+\.md)(?:, "([^"]+)")?', " ".join(parts["Proof"].split())):
        proof = (ROOT / page).read_text(encoding="utf-8")
        assert not heading or re.search(rf"(?m)^#+ {re.escape(heading)}$", proof), f"{page} has no part {heading!r}"


@kinds
def test_what_is_declared_of_rows_comes_from_nobody_else(name: str) -> None:
    assert KINDS[name].takes is Takes.RELATION
    assert set(KINDS[name].declared) == {"max_rows", "neighbours"}
    assert dataclasses.is_dataclass(model_class(name))


@each
def test_it_is_a_frozen_value_that_goes_through_a_door_and_back(mechanism: Any) -> None:  # noqa: ANN401
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.max_rows = 7
    sent = json.loads(json.dumps(described(mechanism)))
    back = rebuilt(sent["name"], sent["parameters"])
    assert back == mechanism
    assert hash(back) == hash(mechanism)
    assert described(back) == sent


@each
def test_its_model_is_read_back_to_the_last_bit(mechanism: Any) -> None:  # noqa: ANN401
    model = mechanism(mechanism.pairs()[0].right, rng=Seeded(1))
    assert type(model) is type(mechanism).model
    assert type(model).read(json.loads(json.dumps(model.body(), allow_nan=False))) == model
    assert model.table().num_rows >= 1
    assert mechanism.numbers >= 1
    for nonsense in ({}, {**model.body(), "features": 3}):
        with pytest.raises((ValueError, TypeError, KeyError)):
            type(model).read(nonsense)


@each
def test_randomness_is_its_argument_alone(mechanism: Any) -> None:  # noqa: ANN401
    rng = inspect.signature(type(mechanism).__call__).parameters["rng"]
    assert rng.kind is inspect.Parameter.KEYWORD_ONLY
    assert rng.default is SECURE
    data = mechanism.pairs()[-1].right
    assert repr(mechanism(data, rng=Seeded(1))) == repr(mechanism(data, rng=Seeded(1)))
    assert len({repr(mechanism(data, rng=Seeded(seed))) for seed in range(20)}) > 1
    assert len({repr(mechanism(data)) for _ in range(20)}) > 1


@each
def test_a_price_is_one_and_makes_sense(mechanism: Any) -> None:  # noqa: ANN401
    assert not mechanism.privacy <= 0 * mechanism.privacy
    assert mechanism.error() is None
    both: list[dict[str, Any]] = [
        {"epsilon": 1, "rho": 1},
        {"epsilon": None, "rho": None},
        {"epsilon": -1, "rho": None},
    ]
    others: list[dict[str, Any]] = [{"max_rows": 0}, {"delta": -1}, {"delta": 1}, {"features": ()}, {"epsilon": -1}]
    fields = {field.name for field in dataclasses.fields(mechanism)}
    for nonsense in [each for each in (*both, *others) if {*each} <= fields]:
        with pytest.raises(Refusal):
            dataclasses.replace(mechanism, **nonsense)


@pytest.mark.parametrize("mechanism", [tiered(one, name) for name, one in EVERY])
def test_it_names_its_worst_inputs_and_passes_its_audit(mechanism: Any) -> None:  # noqa: ANN401
    pairs = mechanism.pairs()
    assert all(isinstance(pair, Pair) and len(pair.why.split()) >= 3 for pair in pairs)
    coins = Seeded(crc32(repr(mechanism).encode()))
    verdict = audit(mechanism, samples=SAMPLES * len(pairs), alpha=ALPHA, rng=coins)
    assert not verdict.refuted, str(verdict)


@pytest.mark.parametrize("name", [tiered(name, name) for name in sorted(EXAMPLES)])
def test_the_same_audit_refutes_a_promise_that_is_far_too_small(name: str) -> None:
    dear = dataclasses.replace(EXAMPLES[name][0], epsilon=40)
    pairs = [(pair.left, pair.right) for pair in dear.pairs()]
    assert audit(dear, pairs, Pure(1), samples=4 * SAMPLES * len(pairs), alpha=ALPHA, rng=Seeded(1)).refuted


# estimators -----------------------------------------------------------------------------------------------------------


@parametrize_with_checks([one for one in ESTIMATORS if type(one).__name__ in QUICK], expected_failed_checks=failing)  # type: ignore[untyped-decorator]
def test_it_has_the_conventions_of_scikit_learn(estimator: Any, check: Any) -> None:  # noqa: ANN401
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([one for one in ESTIMATORS if type(one).__name__ not in QUICK], expected_failed_checks=failing)  # type: ignore[untyped-decorator]
def test_the_others_have_them_too(estimator: Any, check: Any) -> None:  # noqa: ANN401
    chosen = type(estimator).__name__ in DRAWN
    if (estimator.epsilon != HUGE or chosen) and check.func.__name__ in NOISY:
        pytest.skip(NOISE)
    check(estimator)


@pytest.mark.parametrize("estimator", [one for one in ESTIMATORS if "Kernel" not in type(one).__name__], ids=str)
def test_an_estimator_says_what_it_cost_and_needs_bounds(estimator: Any) -> None:  # noqa: ANN401
    rows, label = [[i % 7, i % 5] for i in range(60)], [i % 2 for i in range(60)]
    fitted = clone(estimator).fit(rows, label)
    assert fitted.privacy_.loss <= estimator.mechanism(("a", "b"), "y").privacy
    assert isinstance(fitted.privacy_.neighbours, AddRemove)
    assert "random_state" not in estimator.get_params()
    reach = {"bounds", "data_norm"} & {*estimator.get_params()}
    bare = clone(estimator).set_params(**dict.fromkeys(reach))
    with pytest.raises(Refusal, match=f"{type(estimator).__name__} needs bounds=.*take them from what is known"):
        bare.fit(rows, label)
