"""diffprivlib 0.6.6 where its guarantee holds: logistic regression of rows of length 1, without an intercept.

`python -m benchmarks.peers.diffprivlib FILE` reads rows z and labels y from an npz file, with the splits to train and
test on, and prints its accuracies as JSON. Longer rows, or an intercept, make it lose more than it says.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings

import numpy as np


def main() -> None:
    """All splits at each ε."""
    models = importlib.import_module("diffprivlib.models")
    held = np.load(sys.argv[1])
    warnings.simplefilter("ignore")
    told: dict[str, list[float]] = {}
    for epsilon in ("0.1", "1", "10"):
        for order in held["orders"]:
            train, test = order[: 3 * len(order) // 4], order[3 * len(order) // 4 :]
            model = models.LogisticRegression(epsilon=float(epsilon), data_norm=1, fit_intercept=False, max_iter=1000)
            model.fit(held["z"][train], held["y"][train])
            told.setdefault(epsilon, []).append(float(model.score(held["z"][test], held["y"][test])))
    print(json.dumps(told))


if __name__ == "__main__":
    main()
