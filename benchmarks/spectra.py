"""Private components and clusters are nearly as good as without noise, and fit about as fast.

Asked for: the share of Σ ‖row‖² that k components of digits (1797 × 64, rows of length 1, δ = 10⁻⁶) keep is at least
that of Analyze Gauss with the noise its authors state, calibrated exactly, at ε = 0.1, 1, 10; k-means at ε = 1 at most
twice as far from rows as without noise; a fit of a million rows, of k-means a round, within twice scikit-learn's time.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn import cluster, decomposition, mixture
from sklearn.datasets import load_digits

from benchmarks.timing import beside
from discreet.learn import PCA, GaussianMixture, KMeans, LowRank
from discreet.privacy import concentrated_for

IMAGES = Path(__file__).parents[1] / "docs" / "images"
PRICES = ("0.1", "1", "10")
SEEDS = 10
Reals = NDArray[Any]


def shown(values: Iterable[float], digits: int = 3) -> str:
    """Mean and standard deviation."""
    every = list(values)
    return f"{np.mean(every):.{digits}f} ± {np.std(every):.{digits}f}"


def digits() -> Reals:
    """Pictures of digits as rows of length 1."""
    x = load_digits().data / 8 - 1
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def published(second: Reals, k: int, epsilon: float, rng: np.random.Generator) -> Reals:
    """Analyze Gauss with one variance for every entry, calibrated exactly (Balle & Wang 2018), in doubles."""

    def over(s: float) -> float:
        far = norm.cdf(-1 / (2 * s) - epsilon * s)
        return float(norm.cdf(1 / (2 * s) - epsilon * s) - math.exp(epsilon) * far - 1e-6)

    noise = np.triu(rng.normal(0, brentq(over, 1e-3, 1e5), second.shape))
    return np.asarray(np.linalg.eigh(second + noise + np.triu(noise, 1).T)[1][:, ::-1][:, :k].T)


def components() -> None:
    """How much components keep."""
    x, rng = digits(), np.random.default_rng(1)
    second = x.T @ x

    def kept(rows: Reals) -> float:
        return float(np.trace(rows @ second @ rows.T) / np.trace(second))

    print(
        "| share that k components of digits keep | without noise | ε = 0.1 | ε = 1 | ε = 10 |\n|---|---|---|---|---|"
    )
    for k in (1, 4):
        best = kept(np.linalg.eigh(second)[1][:, -k:].T)
        methods: dict[str, Callable[[str, int], Reals]] = {
            "Analyze Gauss as published": lambda price, k: published(second, k, float(price), rng),
            "`PCA`": lambda price, k: ours(x, price, k, delta="1e-6"),
            '`PCA(method="exponential")`, δ = 10⁻¹²': lambda price, k: ours(x, price, k, method="exponential"),
        }
        for name, fitted in methods.items():
            told = [shown((kept(fitted(price, k)) for _ in range(SEEDS)), 4) for price in PRICES]
            print(f"| {name}, k = {k} | {best:.4f} | {' | '.join(told)} |", flush=True)
    print(
        f"\n1797 × 64, rows of length 1, one row added or removed, δ = 10⁻⁶, {SEEDS} fits, mean ± standard deviation.\n"
    )


def ours(x: Reals, price: str, k: int, **more: Any) -> Reals:
    """Directions from zero of rows of length 1."""
    return np.asarray(PCA(k, epsilon=price, data_norm=1, center=False, **more).fit(x).components_)


def picture() -> None:
    """The first component as a picture, as docs/images/components.png, if matplotlib is installed."""
    try:
        plt: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return
    x = load_digits().data
    first = decomposition.PCA(1).fit(x).components_[0]
    drawn = [("without noise", first)]
    for price in PRICES:
        told = PCA(1, epsilon=price, delta="1e-6", bounds=(0, 16), data_norm=60).fit(x).components_[0]
        drawn.append((f"ε = {price}", told * np.sign(told @ first)))
    figure, axes = plt.subplots(1, 4, figsize=(7, 2))
    for axis, (name, weights) in zip(axes, drawn, strict=True):
        axis.imshow(weights.reshape(8, 8), cmap="RdBu", vmin=-0.4, vmax=0.4)
        axis.set(title=name, xticks=[], yticks=[])
    figure.tight_layout()
    figure.savefig(IMAGES / "components.png", dpi=110)


def kept_picture() -> None:
    """What the first component keeps against ε, as docs/images/components_kept.png, if matplotlib is installed."""
    try:
        plt: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return
    x, prices = digits(), ("0.03", "0.1", "0.3", "1", "3", "10", "30")
    second = x.T @ x
    figure, axes = plt.subplots(figsize=(6, 3.2))
    ways: dict[str, dict[str, Any]] = {
        "noise on sums, δ = 10⁻⁶": {"delta": "1e-6"},
        "noise on sums, pure ε": {},
        "exponential mechanism": {"method": "exponential"},
    }
    for name, given in ways.items():
        shares = [
            np.mean([v @ second @ v for v in (ours(x, price, 1, **given)[0] for _ in range(5))]) / np.trace(second)
            for price in prices
        ]
        axes.plot([float(price) for price in prices], shares, "o-", label=name)
    axes.axhline(np.linalg.eigvalsh(second)[-1] / np.trace(second), color="grey", linewidth=0.8)
    axes.set(xscale="log", xlabel="ε, one row added or removed", ylabel="share kept", ylim=(0, 0.65))
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(IMAGES / "components_kept.png", dpi=110)


def blobs() -> Reals:
    """20,000 rows in four dimensions around five places."""
    rng = np.random.default_rng(0)
    centers = rng.uniform(-0.8, 0.8, (5, 4))
    return np.clip(centers[rng.integers(0, 5, 20_000)] + rng.normal(0, 0.1, (20_000, 4)), -1, 1)


def clusters() -> None:
    """How far rows are from centres."""
    x = blobs()

    def far(centers: Reals) -> float:
        return float(((x[:, np.newaxis] - centers) ** 2).sum(axis=2).min(axis=1).mean())

    plain = cluster.KMeans(5, n_init=5, random_state=0).fit(x).cluster_centers_
    print("| mean squared distance | without noise | ε = 0.1 | ε = 1 | ε = 10 |\n|---|---|---|---|---|")
    for name, delta in (("`KMeans`, pure ε", 0), ("`KMeans`, δ = 10⁻⁶", "1e-6")):
        told = [
            shown(
                (
                    far(KMeans(5, epsilon=price, delta=delta, bounds=(-1, 1)).fit(x).cluster_centers_)
                    for _ in range(SEEDS)
                ),
                4,
            )
            for price in PRICES
        ]
        print(f"| {name} | {far(plain):.4f} | {' | '.join(told)} |", flush=True)
    print(f"\n20,000 × 4 around five places, {SEEDS} fits.\n")


def clusters_picture() -> None:
    """Centres at three prices, as docs/images/clusters.png, if matplotlib is installed."""
    try:
        plt: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return
    x = blobs()
    plain = cluster.KMeans(5, n_init=5, random_state=0).fit(x).cluster_centers_
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.8), sharey=True)
    for axis, price in zip(axes, PRICES, strict=True):
        ours = KMeans(5, epsilon=price, bounds=(-1, 1)).fit(x).cluster_centers_
        axis.plot(*x[:2000, :2].T, ",", color="lightgrey")
        axis.plot(*plain[:, :2].T, "o", fillstyle="none", markersize=9)
        axis.plot(*ours[:, :2].T, "x")
        axis.set(title=f"ε = {price}")
    figure.tight_layout()
    figure.savefig(IMAGES / "clusters.png", dpi=100)


def laws() -> None:
    """How likely rows are under fitted laws, as a table and as docs/images/mixture.png."""
    rng = np.random.default_rng(4)
    wide = np.vstack([rng.normal([0, 0], [3, 0.5], (60_000, 2)), rng.normal([4, 3], [0.5, 2], (30_000, 2))])
    sets: dict[str, tuple[Reals, int, tuple[int, int]]] = {
        "two laws, 90,000 × 2": (wide, 2, (-12, 12)),
        "five laws, 20,000 × 4": (blobs(), 5, (-1, 1)),
    }
    print("| mean ln density | without noise | ε = 0.1 | ε = 1 | ε = 10 |\n|---|---|---|---|---|")
    for name, (x, k, bounds) in sets.items():
        plain = mixture.GaussianMixture(k, covariance_type="diag", n_init=3, random_state=0).fit(x).score(x)
        for said, delta in (("pure ε", 0), ("δ = 10⁻⁶", "1e-6")):
            told = [
                shown(GaussianMixture(k, epsilon=price, delta=delta, bounds=bounds).fit(x).score(x) for _ in range(10))
                for price in PRICES
            ]
            print(f"| {name}, {said} | {plain:.3f} | {' | '.join(told)} |", flush=True)
    print("\n`GaussianMixture`, 10 fits.\n")
    try:
        plt: Any = importlib.import_module("matplotlib.pyplot")
        shapes: Any = importlib.import_module("matplotlib.patches")
    except ImportError:
        return
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.6), sharey=True)
    plain = mixture.GaussianMixture(2, covariance_type="diag", n_init=3, random_state=0).fit(wide)
    for axis, price in zip(axes, PRICES, strict=True):
        ours = GaussianMixture(2, epsilon=price, delta="1e-6", bounds=(-12, 12)).fit(wide)
        axis.plot(*wide[::45].T, ",", color="lightgrey")
        for fitted, colour in ((plain, "grey"), (ours, "tab:blue")):
            for mean, spread in zip(fitted.means_, fitted.covariances_, strict=True):
                ring = shapes.Ellipse(mean, *(4 * np.sqrt(spread)), fill=False, color=colour, linewidth=1.5)
                axis.add_patch(ring)
        axis.set(title=f"ε = {price}", xlim=(-12, 12), ylim=(-8, 10))
    figure.tight_layout()
    figure.savefig(IMAGES / "mixture.png", dpi=100)


def incoherent() -> Reals:
    """500 × 400 numbers between −1 and 1 of rank 3 but for a little, no row of which stands alone."""
    rng = np.random.default_rng(3)
    one, two = np.sign(rng.normal(size=(500, 3))), np.sign(rng.normal(size=(3, 400)))
    return np.clip(one * [0.6, 0.25, 0.1] @ two + rng.normal(size=(500, 400)) * 0.05, -1, 1)


def bound(a: Reals, p: int, epsilon: str, coherence: float) -> float:
    """What docs/proofs/low_rank.md has for the mean of ‖A − QB‖, for two products and entries of at most 1."""
    m, n = a.shape
    rho = concentrated_for(Fraction(epsilon), Fraction(1, 10**6)).rho
    sigma, values = 1 / math.sqrt(float(rho)), np.linalg.svd(a, compute_uv=False)
    long = math.sqrt(p) + math.sqrt(2 * math.log(n))
    last = sigma * math.sqrt(coherence * p / m) * math.sqrt(n * p)
    return last + min(
        math.sqrt(1 + k / (p - k - 1)) * float(np.linalg.norm(values[k:]))
        + sigma * long * math.sqrt(m * k / (p - k - 1))
        for k in range(p - 1)
    )


def low_rank() -> None:
    """How far off an approximation is, as a share, as a table and as docs/images/low_rank.png."""
    a, p, prices = incoherent(), 8, ("0.3", "1", "3", "10", "30")
    whole = float(np.linalg.norm(a))
    coherence = 5.0
    rows: dict[str, list[float]] = {
        "the theorem, no iterations, coherence 5": [bound(a, p, price, coherence) / whole for price in prices]
    }
    ways: dict[str, dict[str, Any]] = {
        "no iterations, coherence 5": {"iterations": 0, "coherence": "5"},
        "one iteration": {"iterations": 1},
        "two iterations": {"iterations": 2},
    }
    for name, given in ways.items():
        rows[name] = [
            float(np.mean([
                np.linalg.norm(a - LowRank(p, epsilon=price, bounds=(-1, 1), **given).fit(a).approximation_)
                for _ in range(3)
            ])) / whole
            for price in prices
        ]  # fmt: skip
    print(f"| ‖A − QB‖ / ‖A‖ | {' | '.join(f'ε = {price}' for price in prices)} |\n|---|{'---|' * len(prices)}")
    for name, told in rows.items():
        print(f"| {name} | {' | '.join(f'{each:.3f}' for each in told)} |", flush=True)
    best = float(np.linalg.norm(np.linalg.svd(a, compute_uv=False)[p:])) / whole
    print(f"\n500 × 400, eight directions, one entry added or removed, δ = 10⁻⁶, 3 fits; without noise {best:.3f}.\n")
    try:
        plt: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return
    figure, axes = plt.subplots(figsize=(6, 3.2))
    for name, told in rows.items():
        axes.plot([float(price) for price in prices], told, "k--" if "theorem" in name else "o-", label=name)
    axes.axhline(best, color="grey", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel="ε, one entry added or removed", ylabel="relative error")
    axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(IMAGES / "low_rank.png", dpi=110)


def seconds(work: Callable[[], object]) -> float:
    """Of processor time, the better of two."""
    spent = []
    for _ in range(2):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def _our_rounds(x: Reals, most: int) -> object:
    return KMeans(5, epsilon=1, bounds=(-5, 5), max_iter=most).fit(x)


def _their_rounds(x: Reals, most: int) -> object:
    return cluster.KMeans(5, n_init=1, init=x[:5], tol=0, algorithm="lloyd", max_iter=most).fit(x)


def speed() -> None:
    """A million rows of ten numbers."""
    x = np.random.default_rng(0).normal(size=(1_000_000, 10))
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "`PCA`, scikit-learn's by singular values": (
            lambda: PCA(2, epsilon=1, delta="1e-6", bounds=(-5, 5)).fit(x),
            lambda: decomposition.PCA(2, svd_solver="full").fit(x),
        ),
        "`PCA`, scikit-learn's by the covariance": (
            lambda: PCA(2, epsilon=1, delta="1e-6", bounds=(-5, 5)).fit(x),
            lambda: decomposition.PCA(2, svd_solver="covariance_eigh").fit(x),
        ),
    }
    print("| fit of 1,000,000 × 10, processor seconds | discreet | scikit-learn | ratio | of single turns |")
    print("|---|---|---|---|---|")
    for name, (own, other) in pairs.items():
        print(f"| {name} | {beside(own, other)} |", flush=True)
    here, there = (
        (seconds(partial(fit, x, 42)) - seconds(partial(fit, x, 2))) / 40 for fit in (_our_rounds, _their_rounds)
    )
    print(f"| `KMeans`, five clusters, each further round | {here:.3f} | {there:.3f} | {here / there:.2f} | |")
    print("\nThey take nine turns each, on one thread. Most of ours is putting doubles on a grid, and exact products.")


def main() -> None:
    """All tables."""
    components()
    picture()
    kept_picture()
    clusters()
    clusters_picture()
    laws()
    low_rank()
    speed()


if __name__ == "__main__":
    main()
