"""Private classifiers are not below correct implementations of published ones by more than two standard errors.

The others are written here after their papers: objective perturbation (Chaudhuri, Monteleoni & Sarwate 2011, Algorithm
2, with c R²) and approximate minima perturbation (Iyengar et al. 2019, Algorithm 1), with noise of numpy's, for
measuring only. diffprivlib is measured where its guarantee holds, on rows of length 1 without an intercept; it needs an
older scikit-learn, and so an environment of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn import linear_model
from sklearn.datasets import load_breast_cancer, load_digits

from benchmarks.learn import adult
from discreet.learn import GaussianNB, LogisticRegression

DELTA = 1e-6
PEER = Path(".peers/interpret-core/bin/python")  # which has diffprivlib as well
Reals = NDArray[Any]


def boxed(x: Reals, low: Reals, high: Reals) -> Reals:
    """Features moved to [−1, 1] by public facts, with a constant one, so that no row is longer than 1."""
    inside = 2 * (np.clip(x, low, high) - low) / (high - low) - 1
    return np.asarray(np.column_stack([inside, np.ones(len(x))]) / math.sqrt(x.shape[1] + 1))


def tilted(z: Reals, y: Reals, ridge: float, tilt: Reals) -> Reals:
    """The least of Σ ln(1 + e^−yzw) + (ridge/2)‖w‖² + tilt·w, to a gradient of 10⁻⁹ a row."""
    signed = z * np.where(y > 0, 1.0, -1.0)[:, np.newaxis]

    def objective(w: Reals) -> tuple[float, Reals]:
        margin = signed @ w
        slope = -(signed * expit(-margin)[:, np.newaxis]).sum(0) + ridge * w + tilt
        return float(np.logaddexp(0, -margin).sum() + ridge / 2 * w @ w + tilt @ w), slope

    w = minimize(objective, np.zeros(z.shape[1]), jac=True, method="L-BFGS-B").x
    for _ in range(50):
        chance = expit(-(signed @ w))
        slope = objective(w)[1]
        if np.linalg.norm(slope) <= 1e-9 * len(z):
            break
        bent = (signed * (chance * (1 - chance))[:, np.newaxis]).T @ signed + ridge * np.eye(z.shape[1])
        w = w - np.linalg.solve(bent, slope)
    return np.asarray(w)


def objective_perturbation(z: Reals, y: Reals, epsilon: float, rng: np.random.Generator) -> Reals:
    """Algorithm 2 of 2011 with nΛ = 1."""
    d, c, ridge = z.shape[1], 0.25, 1.0
    left = epsilon - 2 * math.log(1 + c / ridge)
    if left <= 0:
        ridge, left = max(ridge, c / math.expm1(epsilon / 4)), epsilon / 2
    v = rng.standard_normal(d)
    return tilted(z, y, ridge, np.asarray(v / np.linalg.norm(v) * rng.gamma(d, 2 / left)))


def approximate_minima(z: Reals, y: Reals, epsilon: float, rng: np.random.Generator) -> Reals:
    """Algorithm 1 of 2019 with its split of the price that needs no parameter."""
    d, bent = z.shape[1], 0.25
    price, rare = 0.99 * epsilon, 0.99 * DELTA
    share = max(min(0.88671 + 0.0186607 / epsilon**0.372906, 0.99), 1 - 1 / price + 0.001)
    ridge, scale = 2 * bent / (price * (1 - share)), 2 * (1 + math.sqrt(2 * math.log(1 / rare))) / (share * price)
    w = tilted(z, y, ridge, rng.normal(0, scale, d))
    off = len(z) * 1e-9 / ridge * (1 + math.sqrt(2 * math.log(100 / DELTA))) / (0.01 * epsilon)
    return np.asarray(w + rng.normal(0, off, d))


def adultlike(rng: np.random.Generator, n: int = 30_000) -> tuple[Reals, Reals, Any]:
    """Made-up people whose income is drawn from a nearly linear model of eight numbers."""
    age, school = np.clip(rng.gamma(6, 6.5, n) + 5, 17, 90), np.clip(rng.normal(10, 2.6, n).round(), 1, 16)
    hours = np.clip(rng.normal(40, 12, n), 1, 99)
    gain = np.where(rng.random(n) < 0.08, np.clip(rng.lognormal(8.8, 0.9, n), 0, 99999), 0)
    loss = np.where(rng.random(n) < 0.05, np.clip(rng.normal(1870, 370, n), 0, 4356), 0)
    weight, sex = np.clip(rng.lognormal(12, 0.5, n), 1.2e4, 1.4e6), rng.random(n) < 0.67
    married = rng.random(n) < np.clip((age - 18) / 40, 0, 0.7)
    z = -6.6 + 0.28 * school + 0.03 * (age - 17) + 0.03 * hours + 1.9 * married + 0.3 * sex + 3e-4 * gain
    z += 5e-4 * loss - 6e-4 * (age - 45) ** 2 + 0.02 * married * (school - 10)
    x = np.column_stack([age, school, hours, gain, loss, weight, sex, married]).astype(float)
    ends = ([17, 1, 1, 0, 0, 12000, 0, 0], [90, 16, 99, 99999, 4356, 1.4e6, 1, 1])
    return x, rng.random(n) < expit(1.3 * z - 1.4), ends


def sets(folder: Path) -> dict[str, tuple[Reals, Reals, Any] | None]:
    """Tables, their labels, and bounds as a person who knows the subject would say them."""
    cancer, digits = load_breast_cancer(), load_digits()
    ends = [float(f"{2 * np.median(column):.0e}") for column in cancer.data.T]
    return {
        "Adult": adult(folder),
        "made-up adults": adultlike(np.random.default_rng(1)),
        "breast cancer": (cancer.data, cancer.target > 0, ([0.0] * 30, ends)),
        "digits, odd or even": (digits.data, digits.target % 2 > 0, ([0.0] * 64, [16.0] * 64)),
    }


def scores(x: Reals, y: Reals, bounds: Any, epsilon: str, seed: int) -> dict[str, float]:
    """Of each method its accuracy on a quarter of the rows."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(x))
    train, test = order[: 3 * len(x) // 4], order[3 * len(x) // 4 :]
    z = boxed(x, *map(np.asarray, bounds))
    classes = (False, True)
    given: dict[str, Any] = {"classes": classes, "bounds": bounds, "delta": "1e-6", "neighbours": "replace"}
    ours: dict[str, Any] = {
        "ours": LogisticRegression(epsilon, **given),
        "ours, added": LogisticRegression(epsilon, **{**given, "neighbours": "add-remove"}),
        "functional, added": LogisticRegression(
            epsilon, **{**given, "neighbours": "add-remove"}, alpha="0.1", method="functional"
        ),
        "naive Bayes, added": GaussianNB(epsilon, delta="1e-6", classes=classes, bounds=bounds),
    }
    theirs: dict[str, Callable[..., Reals]] = {
        "objective 2011": objective_perturbation, "approximate minima 2019": approximate_minima,
    }  # fmt: skip
    told = {name: float(model.fit(x[train], y[train]).score(x[test], y[test])) for name, model in ours.items()}
    for name, made in theirs.items():
        w = made(z[train], y[train], float(epsilon), rng)
        told[name] = float(np.mean((z[test] @ w > 0) == y[test]))
    plain = linear_model.LogisticRegression(max_iter=1000).fit(z[train] * math.sqrt(z.shape[1]), y[train])
    return {**told, "without noise": float(plain.score(z[test] * math.sqrt(z.shape[1]), y[test]))}


def library(x: Reals, y: Reals, bounds: Any, seeds: int) -> dict[str, list[float]]:
    """Accuracies of diffprivlib on the same splits, at each ε."""
    orders = [np.random.default_rng(seed).permutation(len(x)) for seed in range(seeds)]
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        np.savez(file, z=boxed(x, *map(np.asarray, bounds)), y=y, orders=np.array(orders))
        file.flush()
        command = [str(PEER), "-m", "benchmarks.peers.diffprivlib", file.name]
        told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603
    scores: dict[str, list[float]] = json.loads(told)
    return scores


def libraries(folder: Path, seeds: int) -> None:
    """A table of diffprivlib, if it is here."""
    if not PEER.exists():
        return
    print("\n| diffprivlib 0.6.6 on the same splits, a row replaced | ε = 0.1 | ε = 1 | ε = 10 |\n|---|---|---|---|")
    for name, known in sets(folder).items():
        if known is not None:
            told = library(*known, seeds).values()
            cells = [f"{np.mean(each):.3f} ± {np.std(each) / math.sqrt(len(each)):.3f}" for each in told]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print("\nLogistic regression of rows of length 1 without an intercept, where its guarantee holds; pure ε.")


def main() -> None:
    """Both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seeds", type=int, default=30)
    given = parser.parse_args()
    names = ("without noise", "ours", "objective 2011", "approximate minima 2019", "ours, added",
             "functional, added", "naive Bayes, added")  # fmt: skip
    print(f"| accuracy | majority | ε | {' | '.join(names)} |\n|---|---|---|{'---|' * len(names)}")
    for name, known in sets(given.data).items():
        if known is None:
            print(f"| {name} | not here: say --data DIR | | {'| ' * len(names)}|")
            continue
        x, y, bounds = known
        most = max(np.mean(y), 1 - np.mean(y))
        for epsilon in ("0.1", "1", "10"):
            told = [scores(x, y, bounds, epsilon, seed) for seed in range(given.seeds)]
            cells = []
            for each in names:
                values = [one[each] for one in told]
                cells.append(f"{np.mean(values):.3f} ± {np.std(values) / math.sqrt(len(values)):.3f}")
            print(f"| {name}, {len(x):,} × {x.shape[1]} | {most:.3f} | {epsilon} | {' | '.join(cells)} |", flush=True)
    print(
        f"\n{given.seeds} splits, three quarters to train on; mean ± standard error. δ = 10⁻⁶; the objective of 2011 "
        "has none. The first three private columns compare a row replaced, as the papers do; *added*: a row added or "
        "removed. Bounds by hand; nothing is tuned."
    )
    libraries(given.data, given.seeds)


if __name__ == "__main__":
    main()
