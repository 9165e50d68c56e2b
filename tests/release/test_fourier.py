"""Fourier marginals against dense linear algebra: coefficients, sensitivity, variance, and the source's own formula."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import contract.test_mechanisms as contract
import numpy as np
import pytest
from doubles import Seeded
from numpy.typing import NDArray
from scipy.linalg import hadamard

from discreet.audit import audit
from discreet.errors import Refusal
from discreet.mechanisms import REGISTRY, described, rebuilt
from discreet.privacy import Pure
from discreet.release.marginals import FourierMarginals, Marginals

Names = tuple[str, ...]

BITS = ("p", "q", "r", "s")
TWOS = (2, 2, 2, 2)
TWO_WAY = tuple(itertools.combinations(BITS, 2))
MIXED, SIZES = ("a", "b", "c"), (2, 3, 4)
MIXED_WAY = (("a", "b"), ("a", "c"), ("b", "c"))
CASES: list[tuple[Names, tuple[int, ...], tuple[Names, ...]]] = [
    (BITS, TWOS, TWO_WAY),
    (BITS, TWOS, (("p", "q", "r"), ("s",))),
    (MIXED, SIZES, MIXED_WAY),
    (MIXED, SIZES, (("a", "b", "c"),)),
    (MIXED, SIZES, (("b",), ())),
]
EXAMPLES = [
    FourierMarginals(BITS, TWOS, TWO_WAY, Fraction(2)),
    FourierMarginals(MIXED, SIZES, MIXED_WAY, Fraction(1), "fourier", (Fraction(1), Fraction(2), Fraction(1, 3))),
    FourierMarginals(("x", "y"), (2, 2), (("x", "y"),), Fraction(1), "uniform", most=2),
    FourierMarginals(MIXED, SIZES, MIXED_WAY, Fraction(1), "cells"),
]
CONTRACT = [
    contract.test_it_is_a_frozen_value,
    contract.test_its_loss_and_neighbours_make_a_whole_sentence,
    contract.test_it_names_its_worst_inputs_and_runs_on_them,
    contract.test_randomness_is_a_keyword_that_defaults_to_the_secure_source,
    contract.test_nonsense_is_refused_and_named,
    contract.test_its_error_grows_with_the_confidence_and_refuses_certainty,
]


def tables(full: NDArray[Any], columns: Names, workload: tuple[Names, ...]) -> dict[Names, NDArray[Any]]:
    def table(names: Names) -> NDArray[Any]:
        return np.asarray(full.sum(tuple(axis for axis, name in enumerate(columns) if name not in names)))

    return {names: table(names) for names in workload}


def measured(mechanism: Any, full: NDArray[Any]) -> list[NDArray[np.int64]]:  # noqa: ANN401
    """What is measured, without its noise: the same coins are drawn for an empty table and taken away."""
    shape = mechanism.sizes
    some = tables(full.reshape(shape), mechanism.columns, mechanism.workload)
    none = tables(np.zeros(shape, dtype=np.int64), mechanism.columns, mechanism.workload)
    noisy, noise = (mechanism.plan.measured(data, 1, Seeded(3)) for data in (some, none))
    return [a.ravel() - b.ravel() for a, b in zip(noisy, noise, strict=True)]


def dense(names: Names, columns: Names, sizes: tuple[int, ...]) -> NDArray[np.float64]:
    matrix: NDArray[np.float64] = np.ones((1, 1))
    for name, size in zip(columns, sizes, strict=True):
        matrix = np.asarray(np.kron(matrix, np.eye(size) if name in names else np.ones((1, size))), dtype=np.float64)
    return matrix


def test_coefficients_of_two_valued_columns_are_those_of_the_hadamard_matrix() -> None:
    full = np.random.default_rng(1).poisson(5, 16)
    mechanism = FourierMarginals(BITS, TWOS, TWO_WAY, Fraction(1), "fourier")
    transform = hadamard(16) @ full  # row k has the sign (−1)^(number of common bits), the first column the highest bit
    assert len(mechanism.plan.parts) == 1 + 4 + 6
    for part, numbers in zip(mechanism.plan.parts, measured(mechanism, full), strict=True):
        assert numbers.tolist() == [transform[sum(1 << (3 - axis) for axis in part.axes)]]


@pytest.mark.parametrize(("columns", "sizes", "workload"), CASES)
@pytest.mark.parametrize("basis", ["best", "fourier", "cells", "uniform"])
@pytest.mark.parametrize("most", [1, 3])
def test_what_one_unit_moves_costs_epsilon_exactly(
    columns: Names, sizes: tuple[int, ...], workload: tuple[Names, ...], basis: str, most: int
) -> None:
    mechanism = FourierMarginals(columns, sizes, workload, Fraction(2, 3), basis, most=most)
    assert mechanism.privacy == Pure(Fraction(2, 3))
    for record in range(math.prod(sizes)):
        full = np.zeros(math.prod(sizes), dtype=np.int64)
        full[record] = most
        moved = [Fraction(int(np.abs(numbers).sum())) for numbers in measured(mechanism, full)]
        lost = [move / scale for move, scale in zip(moved, mechanism.plan.scales, strict=True)]
        assert lost == list(mechanism.plan.losses)
        assert sum(lost) == Fraction(2, 3)


def total(mechanism: Any) -> float:  # noqa: ANN401
    sizes = dict(zip(mechanism.columns, mechanism.sizes, strict=True))
    variances = [math.prod(sizes[name] for name in names) * mechanism.std(names) ** 2 for names in mechanism.workload]
    return float(sum(variances))


def test_equal_shares_have_the_variance_of_the_source() -> None:
    """11 signs at scale 11/ε each: a cell is a quarter of the sum of 4 of them, with signs (Barak et al. 2007)."""
    mechanism = FourierMarginals(BITS, TWOS, TWO_WAY, Fraction(1, 100), "uniform")
    draw = 1 / (2 * math.sinh(0.01 / 11 / 2) ** 2)
    assert mechanism.std(("p", "q")) == pytest.approx(math.sqrt(4 * draw / 16), rel=1e-9)


def test_shares_of_signs_are_the_closed_form() -> None:
    """Least Σ v b² for Σ 1/b = ε is (Σ v^(1/3))³/ε², by Hölder.

    A coefficient has one fourth of its noise's variance in all four cells of each table that it is part of, of six,
    three and one.
    """
    mechanism = FourierMarginals(BITS, TWOS, TWO_WAY, Fraction(1, 1000), "fourier")
    weights = [6 / 4, *[3 / 4] * 4, *[1 / 4] * 6]
    least = 2 * sum(v ** (1 / 3) for v in weights) ** 3 * 1000**2
    assert total(mechanism) == pytest.approx(least, rel=1e-5)


@pytest.mark.parametrize(("columns", "sizes", "workload"), CASES)
def test_the_best_basis_is_no_worse_than_noise_on_each_table(
    columns: Names, sizes: tuple[int, ...], workload: tuple[Names, ...]
) -> None:
    mechanism = FourierMarginals(columns, sizes, workload, Fraction(1, 1000))
    cells = [dense(names, columns, sizes).shape[0] for names in workload]
    identity = 2 * sum(n ** (1 / 3) for n in cells) ** 3 * 1000**2  # the best division of ε among tables
    assert total(mechanism) <= identity * (1 + 1e-5)
    for basis in ("fourier", "cells", "uniform"):
        other = FourierMarginals(columns, sizes, workload, Fraction(1, 1000), basis)
        assert total(mechanism) <= total(other) * (1 + 1e-9)


@pytest.mark.parametrize(("columns", "sizes", "workload"), CASES)
@pytest.mark.parametrize("basis", ["fourier", "cells"])
def test_the_estimate_is_the_best_linear_one_from_what_was_measured(
    columns: Names, sizes: tuple[int, ...], workload: tuple[Names, ...], basis: str
) -> None:
    """Gauss & Markov, densely, with the variance of discrete Laplace noise summed term by term."""
    mechanism = FourierMarginals(columns, sizes, workload, Fraction(5), basis)  # so much that the noise is coarse
    units = np.eye(math.prod(sizes), dtype=np.int64)
    matrix = np.stack([np.concatenate(measured(mechanism, unit)) for unit in units], axis=1).astype(np.float64)
    steps = np.arange(-3000, 3001)
    noise = []
    for part, scale in zip(measured(mechanism, units[0]), mechanism.plan.scales, strict=True):
        weights = np.exp(-np.abs(steps) / float(scale))
        noise += [float((weights * steps**2).sum() / weights.sum())] * len(part)
    gram = np.linalg.pinv(matrix.T @ (matrix / np.array(noise)[:, None]), rcond=1e-10)
    full = np.arange(math.prod(sizes), dtype=np.int64).reshape(sizes)
    released = mechanism(tables(full, columns, workload), rng=Seeded(1))
    for names in workload:
        query = dense(names, columns, sizes)
        covariance = query @ gram @ query.T
        assert np.diag(covariance) == pytest.approx(np.full(len(covariance), mechanism.std(names) ** 2), rel=1e-6)
        weights = np.arange(len(covariance)) * 7 % 5 - 1.5  # any: of either sign, and none
        told = released.query(names, weights.reshape(released.table(names).shape))
        assert told.error == pytest.approx(math.sqrt(weights @ covariance @ weights), rel=1e-6)


@pytest.mark.parametrize("basis", ["fourier", "cells"])
@pytest.mark.slow
def test_cells_are_right_on_average_and_vary_as_said(basis: str) -> None:
    """1000 runs: a sample variance is within 30 % of the truth at 6 standard errors, for kurtosis up to 6."""
    full = np.random.default_rng(2).poisson(9, SIZES)
    mechanism = FourierMarginals(MIXED, SIZES, MIXED_WAY, Fraction(1), basis)
    truth = tables(full, MIXED, MIXED_WAY)
    released = [mechanism(truth, rng=Seeded(i)) for i in range(1000)]
    for names in (*MIXED_WAY, ("c",), ()):
        errors = np.stack([one.table(names) for one in released]) - tables(full, MIXED, (names,))[names]
        ratio = errors.reshape(1000, -1)[:, 0].std() / mechanism.std(names)
        assert 0.83 <= ratio <= 1.17
        assert np.abs(errors.mean(0)).max() <= 6 * mechanism.std(names) / math.sqrt(1000)
    alpha, worst = float(mechanism.error("0.9")), max(MIXED_WAY, key=mechanism.std)
    errors = np.stack([one.table(worst) for one in released]) - truth[worst]
    assert np.mean(np.abs(errors[:, 0, 0]) <= alpha) >= 0.9
    assert alpha <= 3.3 * mechanism.std(worst)
    assert float(mechanism.error(Fraction(10**9 - 1, 10**9))) <= 60 * mechanism.std(worst)  # not only by Chebyshev


def test_a_single_table_is_measured_by_its_cells() -> None:
    mechanism = FourierMarginals(("x",), (2,), (("x",),), Fraction(1, 1000))
    assert mechanism.std(("x",)) == pytest.approx(math.sqrt(2) * 1000, rel=1e-4)
    signs = FourierMarginals(("x",), (2,), (("x",),), Fraction(1, 1000), "fourier")
    assert signs.std(("x",)) == pytest.approx(2 * 1000, rel=1e-4)


@pytest.mark.parametrize("rule", CONTRACT, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_contract_of_mechanisms_holds(rule: Any, example: Any) -> None:  # noqa: ANN401
    rule(example)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_it_passes_its_audit(example: Any) -> None:  # noqa: ANN401
    verdict = audit(example, samples=6000, alpha=Fraction(1, 10**9), rng=Seeded(7))
    assert not verdict.refuted, str(verdict)


def test_the_same_audit_would_see_a_unit_of_four_times_the_records() -> None:
    example = FourierMarginals(("x",), (2,), (("x",),), Fraction(1), "fourier")
    pairs = [
        ({n: 4 * np.array(t) for n, t in p.left.items()}, {n: 4 * np.array(t) for n, t in p.right.items()})
        for p in example.pairs()
    ]
    assert not audit(example, samples=6000, alpha=Fraction(1, 10**9), rng=Seeded(7)).refuted
    assert audit(example, pairs, samples=6000, alpha=Fraction(1, 10**9), rng=Seeded(7)).refuted


def test_it_goes_through_a_door_and_back() -> None:
    assert REGISTRY["fourier-marginals"] is FourierMarginals
    for example in EXAMPLES:
        sent = described(example)
        assert rebuilt(sent["name"], sent["parameters"]) == example


def test_an_unknown_basis_and_a_price_out_of_reach_are_refused() -> None:
    with pytest.raises(Refusal, match="basis"):
        FourierMarginals(BITS, TWOS, TWO_WAY, Fraction(1), "cosines")
    with pytest.raises(Refusal, match="epsilon is too small"):
        FourierMarginals(BITS, TWOS, TWO_WAY, Fraction(1, 10**13))
    with pytest.raises(Refusal, match="epsilon is too large"):
        FourierMarginals(BITS, TWOS, TWO_WAY, Fraction(10**6))


@pytest.mark.parametrize("truth", [4, 5])
@pytest.mark.parametrize("weight", [1.0, 10.0, 0.5, -3.0, 2.5])
@pytest.mark.parametrize("epsilon", ["2.58", "3", "3.2"])
def test_the_bar_of_a_weighted_cell_covers_19_times_in_20_by_the_exact_law(
    epsilon: str, weight: float, truth: int
) -> None:
    mechanism = FourierMarginals(("x",), (3,), (("x",),), Fraction(epsilon))
    q = math.exp(-1 / float(mechanism.plan.scales[0]))  # for one table it is plain noise on its cells
    covered = 0.0
    for noise in range(-30, 31):
        numbers = [np.array([truth + noise, 0, 0], dtype=np.int64)]
        told = Marginals.of(mechanism.domain, mechanism.plan.estimated(numbers), mechanism.plan.spreads)
        low, high = told.query(("x",), [weight, 0, 0]).interval()
        covered += (1 - q) / (1 + q) * q ** abs(noise) * (low - 1e-4 <= weight * truth <= high + 1e-4)
    assert covered >= 0.95


def test_the_bars_of_ranges_and_rectangles_are_no_wider_than_those_of_cells() -> None:
    mechanism = FourierMarginals(MIXED, SIZES, MIXED_WAY, Fraction(1))
    told = mechanism({names: np.full(mechanism.domain.shape(mechanism.domain.axes(names)), 9) for names in MIXED_WAY})
    for rows, columns in itertools.product(range(1, 8), range(1, 16)):
        picked = np.outer([rows >> i & 1 for i in range(3)], [columns >> i & 1 for i in range(4)])
        assert told.query(("b", "c"), picked).span is None
    crossed = told.query(("b", "c"), [[1, -1, 1, -1], [-1, 1, -1, 1], [1, -1, 1, -1]])
    assert crossed.span is not None
