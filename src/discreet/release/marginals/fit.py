"""Tables without negative cells: near ones, in the measure of the noise, by alternating directions.

The full table is never built, so what is asked is that the *measured* tables are not negative and agree. A linear
programme over the full table (Barak et al. 2007) asks for more, and is as large as the product of all sizes.

Plain least squares would raise the total by many of its standard deviations: it pays with one number for lifting
thousands of cells that noise made negative. So the total is held, and small tables come before large ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.release.marginals import rebuild
from discreet.release.marginals.domain import Axes, Domain, maximal, subsets
from discreet.release.marginals.plan import Reals

_FIRST = 10.0  # how many times more a residual counts for each column that it has less: docs/proofs/residual.md
_STILL = 1e-7  # of a standard deviation of the residual: nothing moves any more


def fitted(
    domain: Domain, residuals: Mapping[Axes, Reals], spreads: Mapping[Axes, float], rounds: int
) -> dict[Axes, Reals]:
    """Residuals r that come near the least Σ_B p_B |r_B − r̂_B|² with no negative cell in a table, the total held.

    p_B is the precision 1/s_B, times 10 for each column by which B is smaller than the largest table. Each round
    solves for r with the tables held (residuals do not mix, so that is a division), then clips the tables and
    remembers what was clipped (Boyd et al. 2011, section 3.1).
    """
    largest, deepest = maximal(residuals), max(map(len, residuals))
    tight = {part: _FIRST ** (deepest - len(part)) / max(spread, 1e-12) for part, spread in spreads.items()}
    start = {**residuals, (): np.maximum(residuals[()], 0)}
    pulls = {axes: tight[axes] for axes in largest}
    tables = {axes: np.maximum(rebuild.table(domain, start, axes), 0) for axes in largest}
    debts = {axes: np.zeros(domain.shape(axes)) for axes in largest}
    now = start
    for _ in range(rounds):
        wanted = {axes: tables[axes] - debts[axes] for axes in largest}
        now = {**_solved(domain, start, tight, pulls, wanted), (): start[()]}
        gap = 0.0
        for axes in largest:
            seen = rebuild.table(domain, now, axes)
            tables[axes] = np.maximum(seen + debts[axes], 0)
            debts[axes] = debts[axes] + seen - tables[axes]
            gap = max(gap, float(np.max(np.abs(seen - tables[axes]))) * pulls[axes] ** 0.5)
        if gap <= _STILL:
            break
    return now


def _solved(
    domain: Domain,
    start: Mapping[Axes, Reals],
    tight: Mapping[Axes, float],
    pulls: Mapping[Axes, float],
    wanted: Mapping[Axes, Reals],
) -> dict[Axes, Reals]:
    """argmin Σ_B p_B |r_B − r̂_B|² + Σ_A η_A |μ_A(r) − wanted_A|², residual by residual."""
    tops = {part: own * tight[part] for part, own in start.items()}
    bottoms = dict(tight)
    for axes, table in wanted.items():
        for part in subsets(axes):
            load = pulls[axes] * domain.cells(part) / domain.cells(axes)
            tops[part] = tops[part] + load * rebuild.residual(domain, table, axes, part)
            bottoms[part] += load
    return {part: top / bottoms[part] for part, top in tops.items()}
