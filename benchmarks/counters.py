"""Running counts over a million steps: at most 5.6 σ, 6.8 σ in constant memory, 47 at ε = 1; a million steps a second.

The largest standard deviation of a running count, in units σ of the noise that one number has at the same ρ, or for
ε = 1; and how it is drawn: all steps at once (`batch`), or one after the other from a state (`pushed`). Seconds are of
CPU. `measured` is the root mean square of the last counts of several runs over the stated deviation.

The second table is the search for the constants of `discreet.stream.buffered_factorisation`: fades and weights of four
fading sums that minimise ‖column‖ · ‖row‖, by BFGS and then Nelder–Mead from starts that are evenly spaced logarithms.
`shipped` is the product for what the package has, `found` for what the search finds, both over that of the square root.

With `--plot` it draws docs/images/counters.svg instead: a stream of a thousand steps, and what each counter says of it.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from discreet.noise import SECURE
from discreet.pictures.lines import Line, lines
from discreet.stream import BufferedCounter, SquareRootCounter, TreeCounter
from discreet.stream.buffered_factorisation import POINT, Buffers, buffers_for

STEPS, PUSHED, RUNS = 1_000_000, 20_000, 24
PLOT, SHOWN = Path(__file__).parents[1] / "docs" / "images" / "counters.svg", 1_000
HORIZONS = (100, 1_000, 10_000, 100_000, 1_000_000)
Floats = NDArray[np.float64]


def line(name: str, counter: Any, unit: float, bar: str, *, batch: bool) -> str:  # any counter
    """One counter's row."""
    events = np.random.default_rng(1).integers(0, 3, STEPS)
    rate, measured = "", ""
    if batch:
        start = time.process_time()
        ends = [int(counter(events)[-1]) - int(events.sum()) for _ in range(RUNS)]
        rate = f"{RUNS * STEPS / (time.process_time() - start) / 1e6:.2f} M"
        measured = f"{math.sqrt(sum(end**2 for end in ends) / RUNS) / counter.deviation(STEPS):.2f}"
    state, start = counter.start(SECURE), time.process_time()
    many = PUSHED if not isinstance(counter, SquareRootCounter) else 200
    for each in events[:many].tolist():
        state, _ = counter.push(state, each, SECURE)
    pushed = f"{many / (time.process_time() - start):,.0f}"
    return f"| {name} | {counter.deviation() / unit:.2f} | {bar} | {rate} | {pushed} | {measured} |"


def product(fades: Floats, weights: Floats, steps: int) -> float:
    """‖column‖ · ‖row‖, squared."""
    left = 1 - fades
    both = np.outer(left, left)
    column = 1 + float((np.outer(weights, weights) * (1 - both ** (steps - 1)) / (1 - both)).sum())
    units = [tuple(max(1, round(float(each) * (1 << POINT))) for each in values) for values in (fades, weights)]
    return column * Buffers(units[0], units[1]).row(steps)


def searched(steps: int) -> float:
    """The least product that is found from a few starts."""

    def cost(logs: Floats) -> float:
        fades, weights = np.exp(-np.logaddexp(0, -logs[:4])), np.exp(np.clip(logs[4:], -40, 3))
        fades = np.clip(fades, 2.0**-38, 1 - 1e-9)
        value = product(fades, weights, steps)
        return math.log(value) if math.isfinite(value) and value > 0 else 1e3

    best = math.inf
    for reach in (0.6, 1.0):
        fades = np.exp(np.linspace(math.log(0.5), -math.log(steps) * reach, 4))
        logs = np.concatenate([np.log(fades / (1 - fades)), np.log(np.sqrt(fades) / 3)])
        smooth = minimize(cost, logs, method="BFGS", options={"maxiter": 300})
        fine = minimize(
            cost,
            smooth.x,
            method="Nelder-Mead",
            options={"maxiter": 6000, "maxfev": 6000, "fatol": 1e-12, "xatol": 1e-7},
        )
        best = min(best, float(fine.fun))
    return math.exp(best)


def picture() -> str:
    """Three counters beside the truth; the Gaussian ones for the ρ that ε = 1 implies."""
    events = np.random.default_rng(4).poisson(0.5, SHOWN)
    rho = str(math.tanh(0.5))
    counters: dict[str, Any] = {
        "tree, ε = 1": TreeCounter.of(1, SHOWN),
        "square root": SquareRootCounter.of(rho, SHOWN),
        "fading sums": BufferedCounter.of(rho, SHOWN),
    }
    drawn = [Line(name, tuple(map(float, counter(events)))) for name, counter in counters.items()]
    drawn.append(Line("truth", tuple(map(float, np.cumsum(events))), truth=True))
    note = "A thousand steps with half an event each on average, and what three counters say along the way."
    return lines(("Running counts", note), drawn, ("step", "events so far"), SHOWN).wide


def main() -> None:
    """Print both tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--plot", action="store_true", help="draw the picture of the documentation, and nothing else")
    options.add_argument("--no-search", action="store_true", help="leave the second table out")
    asked = options.parse_args()
    if asked.plot:
        PLOT.write_text(picture(), encoding="utf-8")
        return
    root, fading = (kind.of("0.5", STEPS) for kind in (SquareRootCounter, BufferedCounter))  # σ of one number is 1
    print("| counter | largest deviation | asked | batch, steps/s | pushed, steps/s | measured |")
    print("| --- | --- | --- | --- | --- | --- |")
    print(line("square root, ρ", root, 1.0, "≤ 5.6 σ", batch=True))
    print(line("four fading sums, ρ", fading, 1.0, "≤ 6.8 σ", batch=True))
    print(line("tree, ε = 1", TreeCounter.of(1, STEPS), 1.0, "≤ 47", batch=True))
    if asked.no_search:
        return
    print("\n| steps | shipped | found | seconds |\n| --- | --- | --- | --- |")
    for steps in HORIZONS:
        best = SquareRootCounter.of("0.5", steps).deviation() ** 2
        buffers, start = buffers_for(steps), time.process_time()
        ours = float(buffers.column(steps)) * buffers.row(steps)
        found = searched(steps)
        spent = time.process_time() - start
        print(f"| {steps:,} | {math.sqrt(ours / best):.4f} | {math.sqrt(found / best):.4f} | {spent:.0f} |")


if __name__ == "__main__":
    main()
