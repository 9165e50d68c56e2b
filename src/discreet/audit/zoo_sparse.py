"""Four published forms of the sparse vector technique that are not private, after Lyu, Su & Li 2017, Figure 2.

Each is stated for queries of sensitivity 1 and the threshold 0, with exact noise on a grid: what is wrong is the
algorithm and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.audit.specimen import Specimen
from discreet.mechanisms.mechanism import Pair
from discreet.noise import SECURE, Entropy, laplaces
from discreet.privacy.loss import Pure

STEPS = 16  # of the grid, in one unit of a query
BELOW, ABOVE, SILENT = 0, 1, -1


def sparse_vector(  # noqa: PLR0913  # the six published forms differ in exactly these
    queries: Sequence[int],
    size: int,
    *,
    threshold_scale: Fraction | int,
    query_scale: Fraction | int,
    most: int | None,
    numeric: bool = False,
    rng: Entropy = SECURE,
) -> NDArray[np.int64]:
    """`size` runs: for each query whether it is above a noisy threshold, and nothing more after `most` that are.

    `numeric` answers with the noisy value itself, in steps of the grid, and with the least integer instead of `BELOW`.
    """
    noisy = np.tile(STEPS * np.asarray(queries, dtype=np.int64), (size, 1))
    if query_scale:
        noisy += laplaces(STEPS * Fraction(query_scale), noisy.size, rng=rng).reshape(noisy.shape)
    above = noisy >= laplaces(STEPS * Fraction(threshold_scale), size, rng=rng)[:, None]
    answers = np.where(above, noisy, -NEVER) if numeric else np.where(above, ABOVE, BELOW)
    if most is not None:
        answers[np.cumsum(above, axis=1) - above >= most] = -2 * NEVER if numeric else SILENT
    return answers


NEVER = 1 << 40  # a value that no noise reaches

_SOURCE = "Lyu, Su & Li 2017, “Understanding the sparse vector technique for differential privacy”, Figure 2"

SPARSE = (
    Specimen(
        "svt-3",
        Pure(2),
        Pair((0,) * 8 + (1,), (1,) * 8 + (0,), "one person moves from the last query to the first eight"),
        "it answers with the very noisy value that it compared: that value bounds the secret threshold from above, and"
        " every query found below it then tells more than the threshold's noise hides",
        f"{_SOURCE}, Algorithm 3, after lecture notes of 2011",
        lambda queries, size, rng: sparse_vector(
            queries, size, threshold_scale=1, query_scale=1, most=1, numeric=True, rng=rng
        ),
    ),
    Specimen(
        "svt-4",
        Pure(1),
        Pair((0,) * 8 + (1,) * 2, (1,) * 8 + (0,) * 2, "one person moves from the last two queries to the first eight"),
        "the noise of a query does not grow with the number c of answers above: what it loses is (1 + 6c)/4 times ε",
        f"{_SOURCE}, Algorithm 4, after Lee & Clifton 2014",
        lambda queries, size, rng: sparse_vector(
            queries, size, threshold_scale=4, query_scale=Fraction(4, 3), most=2, rng=rng
        ),
    ),
    Specimen(
        "svt-5",
        Pure(1),
        Pair((0, 1), (1, 0), "one person moves from the second query to the first"),
        "the queries get no noise: two neighbours can order them differently, and the order is told",
        f"{_SOURCE}, Algorithm 5, after Stoddard, Chen & Machanavajjhala 2014",
        lambda queries, size, rng: sparse_vector(queries, size, threshold_scale=2, query_scale=0, most=None, rng=rng),
    ),
    Specimen(
        "svt-6",
        Pure(1),
        Pair((0,) * 10, (1,) * 5 + (-1,) * 5, "one person adds to five queries and takes from five"),
        "it never stops, so every answer above its threshold is given for free",
        f"{_SOURCE}, Algorithm 6, after Chen, Xiao, Zhang & Xu 2015",
        lambda queries, size, rng: sparse_vector(queries, size, threshold_scale=2, query_scale=2, most=None, rng=rng),
    ),
)
