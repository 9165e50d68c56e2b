"""Each statement of docs/slips.md, computed: the slip is one, and what holds holds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from doubles import Seeded
from house.tree import ROOT
from scipy import integrate, stats

from discreet.errors import OverBudget
from discreet.mechanisms import RandomizedResponse, RefreshedSparseVector
from discreet.noise import laplaces
from discreet.privacy import AddRemove, Budget, Guarantee, Pure, winning
from discreet.privacy.calibrate import laplace_tail
from discreet.release.net_mechanism import Net


def test_every_slip_has_its_test() -> None:
    headings = [
        line[3:]
        for line in (ROOT / "docs" / "slips.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("## ")
    ]
    assert headings == [
        "The standard deviation of Laplace noise is √2 λ",
        "Smooth sensitivity with Laplace noise is not 2ε-private",
        "The sparse vector technique lost a square root",
        "The net mechanism needs no δ",
        "Bob wins with probability at most e^ε/(1 + e^ε)",
        '"No privacy after the budget" is a policy, not a theorem',
    ]


def test_the_standard_deviation_is_larger_by_the_root_of_two() -> None:
    drawn = laplaces(Fraction(50), 200_000, rng=Seeded(1))
    assert drawn.std() == pytest.approx(math.sqrt(2) * 50, rel=0.02)
    assert abs(drawn.std() / 50 - 1) > 0.3
    assert np.abs(drawn).mean() == pytest.approx(50, rel=0.02)
    assert float(laplace_tail(100, 50).up) == pytest.approx(math.exp(-2), rel=0.02)  # so two λ cover 86 %


def test_the_loss_of_smooth_laplace_noise_has_no_bound_and_its_delta_is_paid_for_by_tails() -> None:
    """Two neighbours whose scales are 1/ε and e^β/ε: the loss beyond 2ε has a probability, and not a small one."""
    epsilon = 1.0
    scales = 1 / epsilon, math.exp(epsilon) / epsilon

    def excess(bound: float) -> float:
        """The δ that is needed at this ε: the hockey stick of the two laws."""

        def over(y: float) -> float:
            wide, narrow = (stats.laplace.pdf(y, scale=scale) for scale in reversed(scales))
            return float(max(0.0, wide - math.exp(bound) * narrow))

        begins = (bound + epsilon) / (1 / scales[0] - 1 / scales[1])  # where the loss reaches the bound
        return float(2 * integrate.quad(over, begins, begins + 60)[0])

    assert excess(2 * epsilon) > 0.05
    assert excess(20 * epsilon) > 0
    assert excess(40 * epsilon) > 0


@pytest.mark.parametrize("hard", [1, 10, 300])
def test_the_sparse_vector_has_its_root_again(hard: int) -> None:
    delta = Fraction(1, 10**6)
    scale = float(RefreshedSparseVector(Fraction(1), 0, hard, delta).threshold_scale)
    inside = 32 * hard * math.log(1 / delta)
    assert scale == pytest.approx(math.sqrt(inside))
    assert inside / scale == pytest.approx(math.sqrt(inside))  # times as much noise, without the root


def test_the_net_mechanism_is_pure() -> None:
    net = Net(Fraction(1), (4,), (0b0011, 0b0110), 2)
    assert net.privacy == Pure(1)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_bob_wins_as_often_as_randomized_response_lets_him_and_the_essay_says_more(epsilon: str) -> None:
    most = float(winning(Pure(epsilon)))
    told = RandomizedResponse(Fraction(epsilon))
    rng = Seeded(2)
    seen = sum(told(1, rng=rng) == 1 for _ in range(20_000)) / 20_000
    assert seen == pytest.approx(most, abs=6 * math.sqrt(0.25 / 20_000))
    assert most == pytest.approx(math.exp(float(epsilon)) / (1 + math.exp(float(epsilon))))
    assert 0.5 + float(epsilon) / 2 > most
    if epsilon == "0.1":
        assert most == pytest.approx(0.5 + float(epsilon) / 4, abs=1e-4)


def test_after_the_budget_losses_go_on_to_add_up_and_refusing_is_what_we_chose() -> None:
    spent = Budget(Pure(1), Pure(0), AddRemove()).spend(Guarantee(Pure(1), AddRemove())).spent
    with pytest.raises(OverBudget):
        Budget(Pure(1), spent, AddRemove()).spend(Guarantee(Pure("0.5"), AddRemove()))
    assert spent + Pure("0.5") == Pure("1.5")  # a weaker promise, and still one
    assert winning(spent) < winning(Pure("1.5")) < 1
