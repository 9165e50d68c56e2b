"""Private trees, forests and additive models are not below DP-EBM and diffprivlib by more than two standard errors.

Accuracy on a quarter of the rows, mean ± standard error over splits; every model is fitted to the other rows. Bounds
are written by hand; all have their usual parameters, of ours those that did well on these tables. `make peers` builds
the environment of the others; `--peers PYTHON` says another. `--data DIR` says where adult_raw.data lies. The last
column is how far the least of ours is above the best of theirs, in standard errors of the difference on the same
splits. Then seconds of processor time for a million rows.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble, tree
from sklearn.datasets import load_breast_cancer

from benchmarks.learn import adult
from discreet.learn import (
    AdditiveClassifier,
    AdditiveRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
)

Reals = NDArray[Any]
HERE = Path(__file__).parent
PEERS = HERE.parent / ".peers" / "interpret-core" / "bin" / "python"
PLOT = HERE.parent / "docs" / "images" / "trees.png"
CURVES = PLOT.with_name("additive.png")
EPSILONS = ("0.1", "1", "10")
THEIRS = ("DP-EBM", "diffprivlib forest", "diffprivlib tree")


def made(epsilon: str, bounds: Any) -> dict[str, Any]:
    """Ours, each as it is."""
    given: dict[str, Any] = {"classes": (0, 1), "bounds": bounds}
    return {
        "tree": DecisionTreeClassifier(epsilon, **given),
        "forest": RandomForestClassifier(epsilon, **given),
        "additive": AdditiveClassifier(epsilon, delta="1e-6", **given),
    }


def sets(folder: Path) -> dict[str, tuple[Reals, Reals, Any] | None]:
    """Tables, their labels, and bounds as a person who knows the subject would say them."""
    cancer = load_breast_cancer()
    ends = [float(f"{2 * np.median(column):.0e}") for column in cancer.data.T]
    held = adult(folder)
    return {
        "Adult": None if held is None else (held[0], held[1].astype(int), held[2]),
        "breast cancer": (cancer.data, cancer.target, ([0.0] * 30, ends)),
    }


def split(rows: int, seed: int) -> tuple[Reals, Reals]:
    """Three quarters, and the last: as the others do it."""
    order = np.random.default_rng(seed).permutation(rows)
    return order[: 3 * rows // 4], order[3 * rows // 4 :]


def theirs(python: Path, known: tuple[Reals, Reals, Any], epsilon: str, splits: int) -> dict[str, list[float]]:
    """The accuracies of others, if they are installed."""
    if not python.exists():
        return {}
    x, y, bounds = known
    low, high = (np.broadcast_to(np.asarray(end, dtype=float), x.shape[1]) for end in bounds)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "rows.npz"
        np.savez(file, x=x, y=y, low=low, high=high)
        command = [str(python), "-m", "benchmarks.peers.classifiers", str(file), epsilon, str(splits)]
        done = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    told: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return told


def shown(scores: list[float]) -> str:
    """Mean and standard error."""
    return f"{np.mean(scores):.3f} ± {np.std(scores, ddof=1) / math.sqrt(len(scores)):.3f}"


def accuracies(folder: Path, python: Path, splits: int) -> None:
    """The first table."""
    names = list(made("1", (0, 1)))
    every = [*names, *THEIRS]
    print(f"| accuracy | majority | without noise | ε | {' | '.join(every)} | least of ours − best of theirs |")
    print(f"|---|---|---|---|{'---|' * len(every)}---|")
    for name, known in sets(folder).items():
        if known is None:
            print(f"| {name} | not here: say --data DIR | {'| ' * (len(every) + 3)}|")
            continue
        x, y, bounds = known
        plain = []
        for seed in range(splits):
            train, test = split(len(x), seed)
            boosted = ensemble.HistGradientBoostingClassifier().fit(x[train], y[train])
            plain.append(float(boosted.score(x[test], y[test])))
        most = max(np.mean(y), 1 - np.mean(y))
        for epsilon in EPSILONS:
            told: dict[str, list[float]] = {each: [] for each in names}
            for seed in range(splits):
                train, test = split(len(x), seed)
                for each, model in made(epsilon, bounds).items():
                    told[each].append(float(model.fit(x[train], y[train]).score(x[test], y[test])))
            others = theirs(python, known, epsilon, splits)
            cells = [shown({**told, **others}[each]) if each in {*told, *others} else "" for each in every]
            about = f"{name}, {len(x):,} × {x.shape[1]}"
            row = f"| {about} | {most:.3f} | {shown(plain)} | {epsilon} | {' | '.join(cells)} |"
            print(f"{row} {apart(told, others)} |", flush=True)


def apart(ours: dict[str, list[float]], others: dict[str, list[float]]) -> str:
    """How far the least of ours is above the best of theirs, in standard errors."""
    if not others:
        return ""
    best = max(others.values(), key=np.mean)
    far = []
    for name, scores in ours.items():
        gap = np.array(scores) - np.array(best)
        far.append((float(gap.mean() / (gap.std(ddof=1) / math.sqrt(len(gap)))), name))
    least, name = min(far)
    return f"{least:+.1f} ({name})"


def seconds(model: Any, x: Reals, y: Reals) -> float:
    """Of processor time, the better of two fits."""
    spent = []
    for _ in range(2):
        start = time.process_time()
        model.fit(x, y)
        spent.append(time.process_time() - start)
    return min(spent)


def speed() -> None:
    """A million rows of ten numbers."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (1_000_000, 10))
    number = np.clip(x[:, 0] * 2 + x[:, 1] ** 2 + rng.normal(size=len(x)) / 5, -3, 4)
    label = (number > 0).astype(int)
    plain = {
        "tree": (tree.DecisionTreeClassifier(max_depth=6), label),
        "regression tree": (tree.DecisionTreeRegressor(max_depth=6), number),
        "forest": (ensemble.ExtraTreesClassifier(20, max_depth=9, max_features=1), label),
        "additive": (ensemble.HistGradientBoostingClassifier(max_leaf_nodes=3), label),
    }
    ours = {
        **made("1", (-1, 1)),
        "regression tree": DecisionTreeRegressor(1, bounds=(-1, 1), label_bounds=(-3, 4)),
    }
    print("\n| fit of 1,000,000 × 10, processor seconds | discreet | scikit-learn | ratio |\n|---|---|---|---|")
    for name, (other, y) in plain.items():
        own, theirs_too = seconds(ours[name], x, y), seconds(other, x, y)
        print(f"| {name} | {own:.2f} | {theirs_too:.2f} | {own / theirs_too:.1f} |", flush=True)
    print("\nPutting doubles on a grid and shuffling rows is in ours. scikit-learn cuts at every value that occurs.")


def plane(rng: np.random.Generator, n: int = 20_000) -> tuple[Reals, Reals]:
    """Points of a square, and which side of a curve they are on, one in ten mistaken."""
    x = rng.uniform(-1, 1, (n, 2))
    inside = x[:, 1] > np.sin(3 * x[:, 0]) / 2
    return x, (inside ^ (rng.random(n) < 0.1)).astype(int)


def plot() -> None:
    """What trees say of a square, as docs/images/trees.png, if matplotlib is installed."""
    try:
        plt: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return
    x, y = plane(np.random.default_rng(0))
    across = np.linspace(-1, 1, 160)
    grid = np.array([(a, b) for b in across for a in across])
    names = list(made("1", (-1, 1)))
    figure, axes = plt.subplots(len(names), 4, figsize=(8, 2.2 * len(names)), squeeze=False)
    for row, name in zip(axes, names, strict=True):
        for ax, epsilon in zip(row, ("1e30", *EPSILONS[::-1]), strict=True):
            model = made(epsilon, (-1, 1))[name].fit(x, y)
            chances = model.predict_proba(grid)[:, 1].reshape(160, 160)
            ax.imshow(chances, origin="lower", extent=(-1, 1, -1, 1), vmin=0, vmax=1, cmap="BrBG")
            ax.plot(across, np.sin(3 * across) / 2, "k--", linewidth=0.8)
            ax.set(xticks=[], yticks=[], title=f"{name}, ε = {epsilon}" if epsilon != "1e30" else f"{name}, no noise")
    figure.tight_layout()
    figure.savefig(PLOT, dpi=110)


def curves() -> None:
    """What an additive model says of two features, as docs/images/additive.png, if matplotlib is installed."""
    try:
        plt: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (10_000, 6))
    y = np.clip(np.sin(3 * x[:, 0]) + x[:, 1] ** 2 + rng.normal(size=len(x)) / 2, -3, 4)
    across = np.linspace(-1, 1, 400)
    figure, axes = plt.subplots(2, 3, figsize=(8, 4), sharex=True, sharey="row")
    for ax, epsilon in zip(axes.T, EPSILONS[::-1], strict=True):
        model = AdditiveRegressor(epsilon, delta="1e-6", bounds=(-1, 1), label_bounds=(-3, 4)).fit(x, y).model_
        ax[0].set(title=f"ε = {epsilon}", ylabel="x0 adds" if epsilon == EPSILONS[-1] else "")
        ax[1].set(ylabel="x1 adds" if epsilon == EPSILONS[-1] else "")
        for place, truth in enumerate((np.sin(3 * across), across**2 - 1 / 3)):
            ax[place].plot(across, truth, "k--", linewidth=0.8)
            ax[place].plot(across, model.effects[place].of(across), color="#0f766e")
    figure.tight_layout()
    figure.savefig(CURVES, dpi=110)


def main() -> None:
    """All tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--peers", type=Path, default=PEERS)
    parser.add_argument("--splits", type=int, default=20)
    given = parser.parse_args()
    accuracies(given.data, given.peers, given.splits)
    speed()
    plot()
    curves()


if __name__ == "__main__":
    main()
