"""Worked out, not sampled: the loss of finite laws."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet.audit import enumerated
from discreet.audit.exact import Law
from discreet.errors import Refusal
from discreet.interval_arithmetic import Interval, log
from discreet.mechanisms import Exponential, Geometric, PermuteAndFlip, RandomizedResponse
from discreet.mechanisms.mechanism import Pair
from discreet.privacy.divergence import Channel
from discreet.privacy.loss import Approximate, Concentrated, Loss, Pure

QUARTERS = Channel({
    "yes": {"yes": Fraction(3, 4), "no": Fraction(1, 4)},
    "no": {"yes": Fraction(1, 4), "no": Fraction(3, 4)},
})  # fmt: skip
BOTH = [("yes", "no")]


def test_the_classroom_survey_is_ln_3() -> None:
    found = enumerated(QUARTERS, BOTH, Pure(log(3).up))
    assert found.epsilon is not None
    assert found.epsilon.down <= log(3).up
    assert found.epsilon.up >= log(3).down
    assert found.epsilon.up - found.epsilon.down < Fraction(1, 10**50)
    assert found.attained
    assert enumerated(QUARTERS, BOTH, Pure("1.0987")).kept is True
    assert enumerated(QUARTERS, BOTH, Pure("1.0986")).kept is False
    assert found.output in {"yes", "no"}


def test_what_cannot_be_decided_is_not_called_kept() -> None:
    """The loss, ln 3, is no rational number: it is above the lower end of every enclosure, and below the upper one."""
    around = enumerated(QUARTERS, BOTH).epsilon
    assert around is not None
    assert around.down < around.up
    assert enumerated(QUARTERS, BOTH, Pure(around.down)).kept is None
    assert enumerated(QUARTERS, BOTH, Pure((around.down + around.up) / 2)).kept is None
    assert enumerated(QUARTERS, BOTH, Pure(around.up)).kept is True


@pytest.mark.parametrize(
    ("claim", "kept"),
    [
        (Approximate(0, "0.5"), True),  # the total variation distance is exactly 1/2
        (Approximate(0, "0.4999"), False),
        (Approximate("1.0987"), True),
        (Approximate(1, "0.0705"), True),  # 3/4 − e/4 = 0.07043
        (Approximate(1, "0.0704"), False),
        (Concentrated("0.01"), False),
        (Concentrated(5), None),  # true, but a curve is tried at points only
    ],
    ids=str,
)
def test_other_claims_are_decided_where_they_can_be(claim: Loss, kept: bool | None) -> None:  # noqa: FBT001
    assert enumerated(QUARTERS, BOTH, claim).kept is kept


def test_what_only_one_input_can_give_is_infinite() -> None:
    laws: dict[int, Law] = {0: {"a": Fraction(1)}, 1: {"a": Fraction(1, 2), "b": Fraction(1, 2)}}
    found = enumerated(laws.__getitem__, [(0, 1)], Pure(100))
    assert (found.epsilon, found.kept, found.output) == (None, False, "b")
    assert "infinite" in str(found)
    assert enumerated(laws.__getitem__, [(0, 1)], Approximate(1, "0.5")).kept is True


@pytest.mark.parametrize("pair", [(0, 1), (1, 0)])
def test_a_claim_with_a_delta_is_checked_both_ways(pair: tuple[int, int]) -> None:
    """What only one input can give has chance 1/10 there, and nothing speaks against the claim the other way round."""
    laws = {0: {"a": Fraction(9, 10), "b": Fraction(1, 10)}, 1: {"a": Fraction(1)}}
    assert enumerated(laws.__getitem__, [pair], Approximate(1, "0.0999")).kept is False
    assert enumerated(laws.__getitem__, [pair], Approximate(1, "0.1")).kept is True


def test_of_several_pairs_the_worst_is_named() -> None:
    def law(p: int) -> Law:
        return {"heads": Fraction(p, 10), "tails": 1 - Fraction(p, 10)}

    found = enumerated(law, [Pair(5, 6, "near"), Pair(1, 2, "far"), Pair(4, 5, "near")])
    assert (found.pair.why, found.output, found.kept) == ("far", "heads", None)
    assert found.epsilon is not None
    assert float(found.epsilon.up) == pytest.approx(0.6931471805599453)
    assert "far" in str(found)


MECHANISMS = [
    (Geometric.of("1/2", -3, 4), Geometric.of("1/2", -3, 4).law),
    (Geometric.of(2, 0, 6, sensitivity=2), Geometric.of(2, 0, 6, sensitivity=2).law),
    (RandomizedResponse(Fraction(1)), RandomizedResponse(Fraction(1)).channel),
    (RandomizedResponse(Fraction(3, 2), 5), RandomizedResponse(Fraction(3, 2), 5).channel),
]


@pytest.mark.parametrize(("mechanism", "law"), MECHANISMS, ids=lambda value: type(value).__name__)
def test_the_loss_of_a_discrete_mechanism_is_what_it_says(
    mechanism: Geometric | RandomizedResponse, law: Callable[[int], Law] | Channel[int, int]
) -> None:
    found = enumerated(law, mechanism.pairs(), mechanism.privacy)
    assert found.kept is not False
    assert found.epsilon is not None
    assert abs(found.epsilon.up - mechanism.privacy.epsilon) < Fraction(1, 10**15)
    assert abs(found.epsilon.down - mechanism.privacy.epsilon) < Fraction(1, 10**15)


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
def test_a_choice_loses_no_more_than_it_says(kind: type[Exponential]) -> None:
    mechanism = kind(Fraction(1), 3)
    found = enumerated(mechanism.law, mechanism.pairs(), mechanism.privacy)
    assert found.kept is not False
    assert found.epsilon is not None
    assert found.epsilon.down <= mechanism.privacy.epsilon


@pytest.mark.parametrize(
    ("law", "named"),
    [
        (lambda _: {"a": Fraction(1, 2)}, "must sum to 1"),
        (lambda _: {"a": Fraction(3, 2), "b": Fraction(-1, 2)}, "must sum to 1"),
        (
            lambda x: {
                "a": Interval.of(0) if x else Interval.of(1),
                "b": Interval(Interval.of(0).low, Interval.of(1).high),
            },
            "enclose",
        ),
    ],
)
def test_what_is_no_law_is_refused(law: Callable[[object], Law], named: str) -> None:
    with pytest.raises(Refusal, match=named):
        enumerated(law, [(0, 1)])


def test_no_pairs_are_refused() -> None:
    with pytest.raises(Refusal, match="at least one pair"):
        enumerated(QUARTERS, [])
