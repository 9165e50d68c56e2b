"""`python canary_scores.py FILE` prints, as JSON, the bound that jax-privacy proves from scores of two inputs."""

from __future__ import annotations

import json
import sys

import numpy as np
from jax_privacy import auditing  # type: ignore[import-not-found]  # in an environment of its own


def main() -> None:
    """FILE holds arrays `NAME/left` and `NAME/right`, a score for each run on either input."""
    held = np.load(sys.argv[1])
    bounds = {}
    for name in sorted({key.rpartition("/")[0] for key in held.files}):
        proven = []
        for first, second in (("left", "right"), ("right", "left")):
            auditor = auditing.CanaryScoreAuditor(held[f"{name}/{first}"], held[f"{name}/{second}"])
            try:
                found = auditor.epsilon_clopper_pearson(
                    significance=0.025, delta=0.0, one_sided=True, threshold_strategy=auditing.Split()
                )
            except (ValueError, FloatingPointError):
                found = 0.0
            proven.append(float(found))
        bounds[name] = max(proven)
    print(json.dumps(bounds))


if __name__ == "__main__":
    main()
