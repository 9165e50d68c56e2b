"""DP-EBM of interpret and the trees of diffprivlib: `python -m benchmarks.peers.classifiers ROWS.npz EPSILON SPLITS`.

Prints, as JSON, the accuracy of each on every split. All are as their libraries have them, with bounds given;
diffprivlib's are purely ε-private, and its forest has ten trees.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from typing import Any

DELTA, TREES, DEPTH = 1e-6, 10, 5


def main() -> None:
    """Accuracies, a list for each."""
    np: Any = importlib.import_module("numpy")
    private: Any = importlib.import_module("interpret.privacy")
    models: Any = importlib.import_module("diffprivlib.models")
    warnings.simplefilter("ignore")
    file, epsilon, splits = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    held = np.load(file)
    x, y, low, high = (held[name] for name in ("x", "y", "low", "high"))
    inside, told = np.clip(x, low, high), dict[str, list[float]]()
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(x))
        train, test = order[: 3 * len(x) // 4], order[3 * len(x) // 4 :]
        given = {"epsilon": epsilon, "random_state": seed}
        own = {**given, "bounds": (low, high), "classes": [0, 1], "max_depth": DEPTH}
        numbers = ["continuous"] * x.shape[1]
        bounds = np.column_stack([low, high])
        made = {
            "DP-EBM": private.DPExplainableBoostingClassifier(
                **given, delta=DELTA, privacy_bounds=bounds, feature_types=numbers, n_jobs=1
            ),
            "diffprivlib forest": models.RandomForestClassifier(n_estimators=TREES, **own),
            "diffprivlib tree": models.DecisionTreeClassifier(**own),
        }
        for name, model in made.items():
            told.setdefault(name, []).append(float(model.fit(inside[train], y[train]).score(inside[test], y[test])))
    print(json.dumps(told))


if __name__ == "__main__":
    main()
