"""What is kept between calls is little even of the largest releases: whoever asks for prices chooses what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.release import Hierarchy, QuadTree, Wavelet, grids, hierarchy_and_wavelet, interval_tree
from discreet.release.interval_tree import Splits
from discreet.release.noisy_cells import MOST_CELLS
from discreet.release.partition import hilbert

ONE, SMALL, SIDE = Fraction(1), 1 << 12, 1 << 6


def arrays(kept: object) -> Iterator[Any]:
    """All arrays that something holds, also those that it computes when it is first asked."""
    if isinstance(kept, Splits):
        ends = np.arange(kept.leaves)
        kept.ranges(np.zeros_like(ends), np.ones(ends.size), ends, np.ones(ends.size))
    if is_dataclass(kept):
        yield from arrays(list(vars(kept).values()))
    elif isinstance(kept, (list, tuple)):
        for each in kept:
            yield from arrays(each)
    elif isinstance(kept, np.ndarray):
        yield kept


CACHES: list[tuple[Any, Callable[[], object]]] = [
    (hierarchy_and_wavelet._splits, lambda: Hierarchy(ONE, (SMALL,)).splits),
    (hierarchy_and_wavelet._branches, lambda: Hierarchy(ONE, (SMALL,)).children),
    (interval_tree.alike, lambda: interval_tree.alike(SMALL)),
    (hierarchy_and_wavelet._halves, lambda: Wavelet(ONE, (SMALL,)).children),
    (grids._quarters, lambda: QuadTree(ONE, (SIDE, SIDE))._tree),
    (hilbert, lambda: hilbert(SIDE, SIDE)),
]


@pytest.mark.parametrize(("cache", "kept"), CACHES)
def test_all_that_a_cache_holds_of_the_largest_releases_fits_into_a_gigabyte(
    cache: Any,  # noqa: ANN401  # functools keeps its type
    kept: Callable[[], object],
) -> None:
    size = sum(array.nbytes for array in arrays(kept()))
    assert size >= SMALL  # something was found
    assert cache.cache_info().maxsize * size * (MOST_CELLS // SMALL) <= 1 << 30
