"""How large a synthesis may be: what nobody could count is refused unpaid, and what is counted is not cut."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from doubles import Seeded

from discreet.errors import Refusal
from discreet.noise import SECURE
from discreet.release import CliqueTreeSynthesis, SpanningTreeSynthesis
from discreet.release.interval_tree import Whole
from discreet.release.marginals.domain import Domain
from discreet.release.synthetic.noisy_measurements import Measuring


def test_many_records_in_one_cell_of_a_large_table_are_not_cut() -> None:
    sizes, crowd = (1024, 1024), np.zeros((1024, 1024), dtype=np.int64)
    crowd[3, 4] = 1 << 36
    measuring = Measuring(Domain(("a", "b"), sizes), lambda _: crowd, 1, Fraction(2000), SECURE)
    assert abs(int(measuring.table((0, 1), Fraction(1000)).counts[3, 4]) - (1 << 36)) < 10
    even = np.zeros(sizes)
    assert abs(int(measuring.distances([((0, 1), even)], Fraction(1000))[0]) - (1 << 36)) < 10


@pytest.mark.parametrize("kind", [SpanningTreeSynthesis, CliqueTreeSynthesis])
def test_pairs_that_nobody_could_count_are_refused_before_they_are_paid(kind: Any) -> None:  # noqa: ANN401
    with pytest.raises(Refusal, match=r"all pairs of columns together have 108,000,000 cells"):
        kind(tuple("abc"), (6000,) * 3, Fraction(1))
    kind(tuple("abc"), (4000,) * 3, Fraction(1))


def test_a_triple_that_is_small_only_when_merged_is_not_counted_whole() -> None:
    """Three columns of 200 keys that say the same, of which three are seen: the triple would have 8 million cells."""
    sizes, asked = (200,) * 3, set[tuple[str, ...]]()

    def counts(names: tuple[str, ...]) -> Whole:
        asked.add(names)
        table = np.zeros((200,) * len(names), dtype=np.int64)
        for key in range(3):
            table[(key,) * len(names)] = 3000
        return table

    told = CliqueTreeSynthesis(tuple("abc"), sizes, Fraction(1), rows=50)(counts, rng=Seeded(1))
    assert max(map(len, asked)) == 2
    assert told.rows.shape == (50, 3)
