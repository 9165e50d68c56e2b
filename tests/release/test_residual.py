"""Residual marginals against dense linear algebra: what is measured, what it loses, that nothing has less variance."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import contract.test_mechanisms as contract
import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from numpy.typing import NDArray
from scipy.optimize import minimize

from discreet.audit import audit
from discreet.errors import Refusal
from discreet.mechanisms import REGISTRY, described, rebuilt
from discreet.privacy import Concentrated, Replace
from discreet.release.marginals import ResidualMarginals
from discreet.release.marginals.domain import Domain, Workload
from discreet.release.marginals.plan import exactly, for_worst

Matrix = NDArray[np.float64]
Names = tuple[str, ...]

COLUMNS, SIZES = ("a", "b", "c"), (2, 3, 4)
PAIRS = (("a", "b"), ("a", "c"), ("b", "c"))
WORKLOADS: dict[str, tuple[Names, ...]] = {
    "pairs": PAIRS,
    "all": (("a", "b", "c"),),
    "mixed": (("a", "b", "c"), ("b",), ("a", "c"), ()),
    "chain": (("a", "b"), ("b", "c")),
    "ones": (("a",), ("b",), ("c",)),
}
EXAMPLES = [
    ResidualMarginals(COLUMNS, SIZES, PAIRS, Fraction(1, 2)),
    ResidualMarginals(COLUMNS, SIZES, PAIRS, Fraction(1), "worst", (Fraction(1), Fraction(2), Fraction(1, 3))),
    ResidualMarginals(("x",), (3,), (("x",),), Fraction(1, 2), most=2),
]
CONTRACT = [
    contract.test_it_is_a_frozen_value,
    contract.test_its_loss_and_neighbours_make_a_whole_sentence,
    contract.test_it_names_its_worst_inputs_and_runs_on_them,
    contract.test_randomness_is_a_keyword_that_defaults_to_the_secure_source,
    contract.test_nonsense_is_refused_and_named,
    contract.test_its_error_grows_with_the_confidence_and_refuses_certainty,
]


def dense(names: Names, columns: Names = COLUMNS, sizes: tuple[int, ...] = SIZES) -> Matrix:
    """The table of some columns as a matrix on the cells of the full table."""
    matrix: Matrix = np.ones((1, 1))
    for name, size in zip(columns, sizes, strict=True):
        matrix = np.asarray(np.kron(matrix, np.eye(size) if name in names else np.ones((1, size))), dtype=np.float64)
    return matrix


def tables(full: NDArray[Any], workload: tuple[Names, ...]) -> dict[Names, NDArray[Any]]:
    def table(names: Names) -> NDArray[Any]:
        return np.asarray(full.sum(tuple(axis for axis, name in enumerate(COLUMNS) if name not in names)))

    return {names: table(names) for names in workload}


def moves(mechanism: Any, record: int) -> list[list[int]]:  # noqa: ANN401
    """How far one record moves each noisy number: the same coins on either side, so the noise drops out."""
    full = np.zeros(math.prod(SIZES), dtype=np.int64)
    none = mechanism.plan.measured(tables(full.reshape(SIZES), mechanism.workload), 1, Seeded(3))
    full[record] += 1
    one = mechanism.plan.measured(tables(full.reshape(SIZES), mechanism.workload), 1, Seeded(3))
    return [(b - a).ravel().tolist() for a, b in zip(none, one, strict=True)]


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
@pytest.mark.parametrize("objective", ["total", "worst"])
@pytest.mark.parametrize("most", [1, 3])
def test_what_one_unit_moves_costs_rho_exactly(workload: tuple[Names, ...], objective: str, most: int) -> None:
    mechanism = ResidualMarginals(COLUMNS, SIZES, workload, Fraction(1, 3), objective, most=most)
    assert mechanism.privacy == Concentrated(Fraction(1, 3))
    for record in range(math.prod(SIZES)):
        squares = [sum(Fraction(most * n) ** 2 for n in part) for part in moves(mechanism, record)]
        lost = [square / (2 * scale) for square, scale in zip(squares, mechanism.plan.scales, strict=True)]
        assert lost == list(mechanism.plan.losses)
        assert sum(lost) == Fraction(1, 3)


def test_shares_add_up_to_one_whatever_floats_say() -> None:
    for sizes in ([0.1] * 10, [1e-30, 1.0, 3.0], [math.pi, math.e, 1e9]):
        shares = exactly(sizes)
        assert sum(shares) == 1
        assert min(shares) > 0


def total(mechanism: Any) -> float:  # noqa: ANN401
    sizes = dict(zip(mechanism.columns, mechanism.sizes, strict=True))
    variances = [math.prod(sizes[name] for name in names) * mechanism.std(names) ** 2 for names in mechanism.workload]
    return float(sum(variances))


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_the_total_variance_is_the_bound_of_all_linear_mechanisms(workload: tuple[Names, ...]) -> None:
    """Li & Miklau 2013: no matrix mechanism is below (Σ singular values)²/n for squared length 1."""
    mechanism = ResidualMarginals(COLUMNS, SIZES, workload, Fraction(1, 100))  # so small that noise is as continuous
    singular = np.linalg.svd(np.vstack([dense(names) for names in workload]), compute_uv=False)
    bound = singular.sum() ** 2 / math.prod(SIZES) / (2 * 0.01)
    assert total(mechanism) == pytest.approx(bound, rel=1e-9)
    shares = np.array([math.prod(dense(names).shape[:1]) for names in workload]) ** 0.5
    identity = shares.sum() ** 2 / (2 * 0.01)  # a table's cells cost 1/(2σ²): the best division of ρ among tables
    assert total(mechanism) <= identity * (1 + 1e-9)


@pytest.mark.slow
def test_no_strategy_that_a_search_finds_has_less_variance() -> None:
    sizes, workload = (2, 3), (("a",), ("b",))
    mechanism = ResidualMarginals(("a", "b"), sizes, workload, Fraction(1, 2000))
    queries = np.vstack([dense(names, ("a", "b"), sizes) for names in workload])

    def variance(entries: Matrix) -> float:
        root = entries.reshape(6, 6) + 3 * np.eye(6)
        gram = root.T @ root
        return float(np.trace(queries @ np.linalg.pinv(gram) @ queries.T) * np.max(np.diag(gram)) / (2 / 2000))

    found = min(
        float(minimize(variance, np.random.default_rng(i).normal(size=36), method="BFGS").fun) for i in range(3)
    )
    assert found >= total(mechanism) * (1 - 1e-6)
    assert found <= total(mechanism) * 1.03  # the search is no straw man


def projected(workload: tuple[Names, ...]) -> tuple[Matrix, Matrix]:
    """Densely: what each residual's noise does to a cell of each table, and the diagonal of each projection."""
    residuals = [names for size in range(4) for names in itertools.combinations(COLUMNS, size)]
    residuals = [names for names in residuals if any(set(names) <= set(table) for table in workload)]
    rows, diagonals = np.zeros((len(workload), len(residuals))), np.zeros(len(residuals))
    for place, names in enumerate(residuals):
        projection: Matrix = np.ones((1, 1))
        for name, size in zip(COLUMNS, SIZES, strict=True):
            mean = np.full((size, size), 1 / size)
            projection = np.kron(projection, np.eye(size) - mean if name in names else mean)
        diagonals[place] = projection[0, 0]
        for row, table in enumerate(workload):
            cell = dense(table)[0]
            rows[row, place] = cell @ projection @ cell
    return rows, diagonals


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_the_worst_variance_is_the_least_there_can_be(workload: tuple[Names, ...]) -> None:
    """A projection of the full table, measured with noise σ², costs its diagonal/(2σ²): least t with all rows below."""
    mechanism = ResidualMarginals(COLUMNS, SIZES, workload, Fraction(1, 1000), "worst")
    rows, diagonals = projected(workload)
    ours = max(mechanism.std(names) ** 2 for names in workload) * 2 / 1000
    shares = np.array([float(1000 * loss) for loss in mechanism.plan.losses])
    assert np.max(rows @ (diagonals / shares)) == pytest.approx(ours, rel=1e-9)
    weights = np.full(len(workload), 1 / len(workload))  # of tables: for any of them no division of ρ has less than
    for _ in range(3000):  # (Σ √(weighted diagonal))², by Cauchy and Schwarz, and more weight goes where there is more
        roots = np.sqrt((weights @ rows) * diagonals)
        assert roots.sum() ** 2 <= ours * (1 + 1e-9)
        weights *= rows @ (diagonals * roots.sum() / np.maximum(roots, 1e-300))
        weights /= weights.sum()
    assert ours == pytest.approx(np.sqrt((weights @ rows) * diagonals).sum() ** 2, rel=1e-4)


def test_the_certificate_of_the_worst_case_is_close_to_one_on_many_columns() -> None:
    columns, sizes = tuple("abcdefgh"), (2, 3, 50, 7, 2, 9, 4, 12)
    wanted = Workload.of(Domain(columns, sizes), tuple(itertools.combinations(columns, 2)), ())
    assert 1 <= for_worst(wanted)[1] <= 1.001


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS)
def test_the_estimate_is_the_best_linear_one_from_what_was_measured(workload: tuple[Names, ...]) -> None:
    """Gauss & Markov, densely: W (Mᵀ D⁻¹ M)⁺ Wᵀ for the matrix M of what records move and the noise D."""
    mechanism = ResidualMarginals(COLUMNS, SIZES, workload, Fraction(1, 50))
    columns = [np.concatenate([np.array(part) for part in moves(mechanism, record)]) for record in range(24)]
    matrix = np.stack(columns, axis=1).astype(np.float64)
    noise = np.concatenate(
        [
            np.full(len(part), float(scale))
            for part, scale in zip(moves(mechanism, 0), mechanism.plan.scales, strict=True)
        ]
    )
    gram = np.linalg.pinv(matrix.T @ (matrix / noise[:, None]), rcond=1e-10)
    released = mechanism(tables(FULL, workload), rng=Seeded(1))
    for names in workload:
        covariance = dense(names) @ gram @ dense(names).T
        assert np.diag(covariance) == pytest.approx(np.full(len(covariance), mechanism.std(names) ** 2), rel=1e-6)
        weights = np.arange(len(covariance)) * 7 % 5 - 1.5  # any: of either sign, and none
        told = released.query(names, weights.reshape(released.table(names).shape))
        assert told.error == pytest.approx(math.sqrt(weights @ covariance @ weights), rel=1e-6)


FULL = np.random.default_rng(5).poisson(20, SIZES)


@pytest.fixture(scope="module")
def runs() -> tuple[ResidualMarginals, dict[Names, NDArray[np.float64]]]:
    mechanism = ResidualMarginals(COLUMNS, SIZES, PAIRS, Fraction(1, 20))
    truth = tables(FULL, PAIRS)
    released = [mechanism(truth, rng=Seeded(i)) for i in range(1500)]
    wanted = [*PAIRS, ("b",), ()]
    return mechanism, {
        names: np.stack([one.table(names) for one in released]) - tables(FULL, (names,))[names] for names in wanted
    }


@pytest.mark.slow
def test_standard_deviations_cover_at_their_level(runs: tuple[ResidualMarginals, dict[Names, Any]]) -> None:
    """1500 runs: the share within 1.96 deviations is 0.95 ± 0.035 at 6 standard errors; a wrong scale is outside."""
    mechanism, errors = runs
    for names, error in errors.items():
        inside = [
            np.mean(np.abs(error.reshape(1500, -1)[:, 0]) <= 1.96 * factor * mechanism.std(names))
            for factor in (1, 0.8, 1.3)
        ]
        assert abs(inside[0] - 0.95) <= 0.035
        assert inside[1] < 0.95 - 0.03
        assert inside[2] > 0.95 + 0.02
        assert np.abs(error.mean(0)).max() <= 6 * mechanism.std(names) / math.sqrt(1500)  # nothing is biased


def test_the_error_is_kept_and_not_absurd() -> None:
    """Of one cell in each of 200 runs: by exact tails at 1e-9."""
    mechanism, truth = ResidualMarginals(COLUMNS, SIZES, PAIRS, Fraction(1, 20)), tables(FULL, PAIRS)
    alpha = float(mechanism.error("0.9"))
    worst = max(PAIRS, key=mechanism.std)
    cells = [mechanism(truth, rng=Seeded(i)).table(worst)[0, 0] for i in range(200)]
    assert not Coverage(sum(abs(cell - truth[worst][0, 0]) <= alpha for cell in cells), 200).refuted(0.9)
    assert alpha <= 1.6 * 1.645 * mechanism.std(worst)


def test_noise_of_less_than_a_step_has_the_variance_of_its_law() -> None:
    """One number with σ² = 1/4: Σ n² exp(−2n²)/Σ exp(−2n²), a fifth below σ²."""
    steps = np.arange(-20, 21)
    weights = np.exp(-2.0 * steps**2)
    variance = float((weights * steps**2).sum() / weights.sum())
    assert variance < 0.9 / 4
    mechanism = ResidualMarginals(("a",), (2,), ((),), Fraction(2))
    assert mechanism.plan.scales == (Fraction(1, 4),)
    assert mechanism.std(()) == pytest.approx(math.sqrt(variance), rel=1e-12)


def test_more_records_of_a_unit_mean_as_much_more_noise() -> None:
    one, three = (ResidualMarginals(COLUMNS, SIZES, PAIRS, Fraction(1, 100), most=most) for most in (1, 3))
    assert three.std(("a", "b")) == pytest.approx(3 * one.std(("a", "b")), rel=1e-9)


def test_weights_move_the_noise() -> None:
    plain = ResidualMarginals(COLUMNS, SIZES, PAIRS, Fraction(1, 9))
    heavy = ResidualMarginals(COLUMNS, SIZES, PAIRS, Fraction(1, 9), weights=(Fraction(100), Fraction(1), Fraction(1)))
    assert heavy.std(("a", "b")) < plain.std(("a", "b"))
    assert heavy.std(("b", "c")) > plain.std(("b", "c"))


@pytest.mark.parametrize("rule", CONTRACT, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_contract_of_mechanisms_holds(rule: Any, example: Any) -> None:  # noqa: ANN401
    rule(example)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_it_passes_its_audit(example: Any) -> None:  # noqa: ANN401
    verdict = audit(example, samples=6000, alpha=Fraction(1, 10**9), rng=Seeded(7))
    assert not verdict.refuted, str(verdict)


def test_the_same_audit_would_see_a_unit_of_four_times_the_records() -> None:
    example = EXAMPLES[0]
    pairs = [
        ({n: 4 * np.array(t) for n, t in p.left.items()}, {n: 4 * np.array(t) for n, t in p.right.items()})
        for p in example.pairs()
    ]
    assert audit(example, pairs, samples=6000, alpha=Fraction(1, 10**9), rng=Seeded(7)).refuted


def test_it_goes_through_a_door_and_back() -> None:
    assert REGISTRY["residual-marginals"] is ResidualMarginals
    for example in EXAMPLES:
        sent = described(example)
        assert rebuilt(sent["name"], sent["parameters"]) == example


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"columns": ("a", "a", "c")}, "different names"),
        ({"columns": ()}, "columns"),
        ({"sizes": (2, 3)}, "sizes"),
        ({"sizes": (2, 0, 4)}, "sizes"),
        ({"workload": ()}, "workload"),
        ({"workload": (("a", "z"),)}, "no column"),
        ({"workload": (("a", "a"),)}, "once"),
        ({"workload": (("a", "b"), ("b", "a"))}, "once"),
        ({"weights": (Fraction(1),)}, "weights"),
        ({"objective": "least"}, "objective"),
        ({"rho": Fraction(10**9)}, "rho is too large"),
        ({"rho": Fraction(1, 10**30)}, "rho is too small"),
        ({"neighbours": Replace()}, "AddRemove"),
        ({"sizes": (2, 10**5, 10**5)}, "cells"),
    ],
)
def test_nonsense_is_refused(change: dict[str, Any], says: str) -> None:
    given = {"columns": COLUMNS, "sizes": SIZES, "workload": PAIRS, "rho": Fraction(1), **change}
    with pytest.raises(Refusal, match=says):
        ResidualMarginals(**given)


def test_too_many_columns_in_one_table_are_refused_before_anything_is_counted() -> None:
    columns = tuple(f"c{i}" for i in range(40))
    with pytest.raises(Refusal, match="sub-tables"):
        ResidualMarginals(columns, (2,) * 40, (columns,), Fraction(1))
