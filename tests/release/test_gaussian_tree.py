"""Gaussian counts: what they lose, that their errors cover, and that nothing of their kind is sharper for ranges."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from covering import coverage
from doubles import Seeded
from release.examples import OTHERS

from discreet.audit import audit
from discreet.errors import Refusal
from discreet.mechanisms import GaussianVector
from discreet.privacy import AddRemove, Concentrated, Pure, Replace, convert
from discreet.release import GaussianTree, Histogram, gaussian_tree
from discreet.release.hierarchy_and_wavelet import tuned
from discreet.release.histogram_kinds import CountsWish, pure

ONE = Fraction(1)
TREES = [*OTHERS["gaussian-tree"], GaussianTree.for_ranges("0.01", 40), GaussianTree(ONE, (1,))]
each = pytest.mark.parametrize("tree", TREES, ids=[f"{tree.shape} {tree.branching}" for tree in TREES])


class Told:
    """Instead of noise, the same is told of both tables; what that loses is added up: Σ distance²/(2 variance)."""

    def __init__(self) -> None:
        self.first: list[tuple[Fraction, Any]] = []
        self.second: list[tuple[Fraction, Any]] = []
        self.of = self.first

    def vector(self, variance: Fraction) -> Any:  # noqa: ANN401
        def drawn(values: Any, *, rng: Any) -> Any:  # noqa: ANN401, ARG001
            self.of.append((variance, values))
            return np.zeros_like(values)

        return drawn

    @property
    def lost(self) -> Fraction:
        assert [variance for variance, _ in self.first] == [variance for variance, _ in self.second] != []
        both = zip(self.first, self.second, strict=True)
        return sum((Fraction(int(((a - b) ** 2).sum())) / (2 * v) for (v, a), (_, b) in both), Fraction(0))


def lost(tree: GaussianTree, left: Any, right: Any, monkeypatch: pytest.MonkeyPatch) -> Fraction:  # noqa: ANN401
    told = Told()
    monkeypatch.setattr(gaussian_tree, "GaussianVector", told.vector)
    tree(left)
    told.of = told.second
    tree(right)
    return told.lost


@each
@pytest.mark.parametrize("most", [1, 3])
def test_whose_records_come_to_one_cell_loses_the_price(
    tree: GaussianTree, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = dataclasses.replace(tree, most=most, neighbours=AddRemove("person"))
    left = np.full(asked.shape, 400, dtype=np.int64)
    first, spread = left.copy(), left.copy()
    first.flat[0] += most
    spread.flat[0] += 1
    spread.flat[-1] += most - 1
    assert lost(asked, left, first, monkeypatch) == asked.rho
    assert lost(asked, left, spread, monkeypatch) <= asked.rho


@each
@pytest.mark.parametrize("most", [1, 3])
def test_whose_records_are_replaced_loses_no_more(
    tree: GaussianTree, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Moved from one end to the other all levels below the root change by 2 most², and so cells alone lose just ρ."""
    asked = dataclasses.replace(tree, most=most, neighbours=Replace("person"))
    left = np.full(asked.shape, 40, dtype=np.int64)
    right = left.copy()
    right.flat[0] -= most
    right.flat[-1] += most
    found = lost(asked, left, right, monkeypatch)
    assert found <= asked.rho
    assert found == asked.rho or asked.cells == 1 or not asked.shares or asked.shares[0] > 0


@each
def test_it_names_neighbours_that_its_promise_is_about(tree: GaussianTree, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = [lost(tree, pair.left, pair.right, monkeypatch) for pair in tree.pairs()]
    assert (
        max(losses) == tree.rho
        or (tree.cells > 1 and (not tree.shares or tree.shares[0] > 0))
        or tree.neighbours != AddRemove()
    )
    assert max(losses) <= tree.rho
    assert tree.privacy == Concentrated(tree.rho)


@each
def test_without_noise_it_tells_the_counts(tree: GaussianTree, monkeypatch: pytest.MonkeyPatch) -> None:
    class Exact:
        def __init__(self, variance: Fraction) -> None:
            assert variance > 0

        def __call__(self, values: Any, *, rng: Any) -> Any:  # noqa: ANN401, ARG002
            return values

    monkeypatch.setattr(gaussian_tree, "GaussianVector", Exact)
    counts = np.arange(tree.cells, dtype=np.int64).reshape(tree.shape) * 7
    told = tree(counts)
    assert isinstance(told, Histogram)
    assert np.allclose(told.counts, counts, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("tree", [GaussianTree.for_ranges("0.02", 30), GaussianTree.cell_by_cell("0.05", (30,), 2)])
def test_its_errors_cover(tree: GaussianTree) -> None:
    """The stated error at 90 %, of cells or of prefixes, and the bar of a range."""
    counts = np.arange(30, dtype=np.int64) ** 2
    off, rng = float(tree.error("0.9")), Seeded(8)
    plain = tree.about == "one cell"
    truths, stated, bars = [], [], []
    for _ in range(2_000):
        told = tree(counts, rng=rng)
        value = float(told.counts[11] if plain else told.counts[:12].sum())
        stated.append((value - off, value + off))
        truths.append(float(counts[11] if plain else counts[:12].sum()))
        low, high = told.range(3, 18).interval()
        bars.append((low, high))
    found = coverage(truths, stated)
    assert not found.refuted(0.9), found
    assert found.refuted(0.985), found  # not for ever wide
    found = coverage([float(counts[3:18].sum())] * len(bars), bars)
    assert not found.refuted(0.95), found
    assert found.refuted(0.99), found


def test_a_price_in_rho_buys_gaussian_noise_and_that_is_sharper() -> None:
    """ρ = 0.01 on 1,024 cells: Laplace noise for it has eight times the variance, cell by cell."""
    rho = Fraction("0.01")
    epsilon = pure(CountsWish(kind="histogram", columns=("age",), rho="0.01"))
    laplace = 2 / epsilon**2
    plain = GaussianTree.cell_by_cell(rho, (1024,)).variances[-1]
    assert plain == GaussianVector.of(rho).variance == 50
    assert laplace > Fraction("3.9") * plain / 2
    ours, theirs = GaussianTree.for_ranges(rho, 256), tuned(epsilon, 256)
    assert mean_range(theirs.splits) > 4 * mean_range(ours.splits)


@pytest.mark.parametrize("rho", ["1e-6", "0.5", "3", "40"])
def test_what_has_no_gaussian_noise_has_the_largest_epsilon_within_rho(rho: str) -> None:
    epsilon = pure(CountsWish(kind="histogram", columns=("age",), rho=rho, method="wavelet"))
    assert convert(Pure(epsilon), Concentrated).rho <= Fraction(rho)
    assert convert(Pure(epsilon * Fraction(1_000_001, 1_000_000)), Concentrated).rho > Fraction(rho)


def mean_range(splits: Any) -> float:  # noqa: ANN401
    """Over all ranges."""
    first, last = np.triu_indices(splits.leaves)
    return float(splits.ranges(first, np.ones(first.size), last, np.ones(first.size)).mean())


@pytest.mark.parametrize("cells", [64, 200])
def test_no_even_tree_is_much_sharper_for_ranges(cells: int) -> None:
    """Of all branchings with even shares and no root, as the literature has Gaussian hierarchies."""
    ours = mean_range(GaussianTree.for_ranges(ONE, cells).splits)
    even = []
    for branching in range(2, 33):
        levels = len(GaussianTree(ONE, (cells,), branching=branching).children)
        shares = (Fraction(0), *[Fraction(1, levels)] * levels)
        even.append(mean_range(GaussianTree(ONE, (cells,), branching=branching, shares=shares).splits))
    assert ours <= 1.05 * min(even)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rho": 0}, "rho"),
        ({"rho": Fraction(1, 10**20)}, "rho"),
        ({"rho": Fraction(10**12)}, "rho"),
        ({"shares": (ONE, Fraction(0), Fraction(0))}, "shares"),
        ({"shape": (2, 3)}, "branching"),
        ({"branching": 1}, "branching"),
        ({"most": 0}, "most"),
    ],
)
def test_nonsense_is_refused_by_name(change: dict[str, Any], said: str) -> None:
    with pytest.raises(Refusal, match=said):
        dataclasses.replace(GaussianTree(ONE, (4,)), **change)


@pytest.mark.slow
@each
def test_its_promise_withstands_an_audit(tree: GaussianTree) -> None:
    def told(data: Any, *, rng: Any) -> Any:  # noqa: ANN401
        return tuple(np.round(tree(data, rng=rng).counts.ravel(), 6).tolist())

    pairs = [(pair.left, pair.right) for pair in tree.pairs()]
    verdict = audit(told, pairs, claim=tree.privacy, samples=6_000, alpha=Fraction(1, 10**9), rng=Seeded(2))
    assert not verdict.refuted, str(verdict)
    far = [(left, left + 8 * (right - left)) for left, right in pairs]
    assert audit(told, far, claim=tree.privacy, samples=2_000, alpha=Fraction(1, 10**9), rng=Seeded(2)).refuted
