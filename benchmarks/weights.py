"""Ten thousand adaptive counts on nltcs cost fewer than 500 hard answers: all others are free.

21,574 people, 16 yes-or-no columns, 65,536 cells, one row a person. A question is a condition on one, two or three
columns. The analyst adapts: after a hard answer the next question is that one with another column, else one at random;
so harder ones are asked more often. `off` is what an answer is off by, in percent of all people, `told` the error that
was stated beforehand for every answer of the session, at 95 %. `one by one` is that of the same questions asked alone
at the same total ε, each with a 10,000th of it. Then CPU seconds of the whole session in memory, without measuring
counts. How many hard answers and which threshold were chosen on this data, which flatters the figures a little.

Offline, multiplicative weights release all 560 tables of three of the columns at once: the mean distance (total
variation) of a table from the true one, beside that of noise on every table, purely ε-private both.
`--data DIR` says where aim_suite/nltcs.zip lies.
"""

from __future__ import annotations

import argparse
import io
import itertools
import time
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Answered, CellCount, OnlineWeights
from discreet.mechanisms.online_weights import WeightsState
from discreet.mechanisms.session import finished
from discreet.noise import SECURE
from discreet.privacy.calibrate import laplace_error
from discreet.release import FourierMarginals, WeightedMarginals

QUESTIONS, MOST_HARD = 10_000, 500
SETTINGS = ((Fraction(1), 60, 2200), (Fraction(3), 80, 900), (Fraction(10), 150, 450))  # ε, hard, threshold


def people(file: Path) -> tuple[list[str], NDArray[np.int64]]:
    """Columns and rows."""
    with zipfile.ZipFile(file) as packed:
        name = next(name for name in packed.namelist() if name.endswith(".csv"))
        text = packed.read(name).decode()
    head, _, _ = text.partition("\n")
    return head.split(","), np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1, dtype=np.int64)


class Analyst:
    """Asks, and looks closer where it was told something new."""

    def __init__(self, rows: NDArray[np.int64], seed: int) -> None:
        self.width = rows.shape[1]
        self.bits = (np.arange(1 << self.width)[:, None] >> np.arange(self.width)[::-1]) & 1
        self.histogram = np.bincount(rows @ (1 << np.arange(self.width)[::-1]), minlength=1 << self.width)
        self.random = np.random.default_rng(seed)
        self.asked: dict[int, int] = {}

    def next(self, last: Answered | None) -> CellCount:
        """The next question, as a session measures it."""
        if last is not None and last.hard and len(self.asked) < 3:  # columns at most
            free = [i for i in range(self.width) if i not in self.asked]
            self.asked[int(self.random.choice(free))] = int(self.random.integers(2))
        else:
            columns = self.random.choice(self.width, self.random.integers(1, 4), replace=False)
            self.asked = {int(i): int(self.random.integers(2)) for i in columns}
        inside = np.all([self.bits[:, i] == value for i, value in self.asked.items()], axis=0)
        cells = int.from_bytes(np.packbits(inside, bitorder="little").tobytes(), "little")
        return CellCount(int(self.histogram[inside].sum()), cells)


def session(mechanism: OnlineWeights, analyst: Analyst) -> tuple[tuple[Answered, ...], list[int], float]:
    """All answers, what they are off by, and CPU seconds."""
    state: WeightsState = mechanism.start(SECURE)
    last, off, taken = None, [], 0.0
    while not finished(mechanism, state):
        asked = analyst.next(last)
        start = time.process_time()
        state = mechanism.step(state, asked, SECURE)
        taken += time.process_time() - start
        last = Answered(state.said[-1], bool(state.comparison.hard) and state.comparison.hard[-1][0] == len(state.said))
        off.append(abs(last.number - asked.value))
    return mechanism.answers(state), off, taken


def rows(file: Path) -> Iterator[Sequence[str]]:
    """One for each ε."""
    columns, table = people(file)
    domain = [[column, "0", "1"] for column in columns]
    for epsilon, hard, threshold in SETTINGS:
        mechanism = OnlineWeights.of(epsilon, domain, len(table), hard, threshold=threshold, questions=QUESTIONS)
        answers, off, taken = session(mechanism, Analyst(table, 1))
        used = sum(answer.hard for answer in answers)
        percent = 100 / len(table)
        alone = laplace_error(QUESTIONS / epsilon, 1 - Fraction(1, 20 * QUESTIONS))
        yield (
            f"{epsilon}",
            f"{len(answers):,}",
            f"{used} ({used / len(answers):.1%})",
            f"{np.mean(off) * percent:.2f}",
            f"{np.quantile(off, 0.95) * percent:.2f}",
            f"{max(off) * percent:.2f}",
            f"{mechanism.error() * percent:.1f}",
            f"{alone * percent:.0f}",
            f"{taken:.0f}",
        )


def offline(file: Path) -> Iterator[Sequence[str]]:
    """One for each ε."""
    columns, table = people(file)
    triples, sizes = tuple(itertools.combinations(columns, 3)), (2,) * len(columns)

    def counts(names: Sequence[str]) -> NDArray[np.int64]:
        codes = table[:, [columns.index(name) for name in names]] @ (1 << np.arange(len(names))[::-1])
        return np.bincount(codes, minlength=1 << len(names)).reshape((2,) * len(names))

    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(10)):
        cells = []
        for mechanism in (
            WeightedMarginals(tuple(columns), sizes, triples, epsilon),
            FourierMarginals(tuple(columns), sizes, triples, epsilon),
        ):
            start = time.process_time()
            told = mechanism(counts)
            off = np.mean([np.abs(told.table(each) - counts(each)).sum() / 2 / len(table) for each in triples])
            cells += [f"{off:.4f}", f"{time.process_time() - start:.0f}"]
        yield f"{float(epsilon):g}", *cells


def printed(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """A table."""
    print("\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *lines)))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path(__file__).parent.parent.parent / "shared" / "data")
    file: Path = parser.parse_args().data / "aim_suite" / "nltcs.zip"
    if not file.exists():
        print("Not run: aim_suite/nltcs.zip is not there; `--data DIR` says where it is.")
        return
    heads = ("ε", "questions", "hard", "off, mean %", "95th %", "worst %", "told %", "one by one %", "CPU s")
    printed(heads, rows(file))
    print()
    printed(("ε", "multiplicative weights", "CPU s", "noise on every table", "CPU s"), offline(file))


if __name__ == "__main__":
    main()
