"""One core encrypts more than 6,000 numbers a second, and the sum over 100,000 people is read in less than 2 seconds.

Processor seconds. A message is a number with its noise, encrypted; one that is kept is also written to a file before it
leaves. To read a sum is to check and add all messages and to find the logarithm, by a table that was made before. Then
how far each scheme's sum of bits is off, in standard deviations at ε = 1, δ = 10⁻⁶, with everybody honest and failures
at random. With matplotlib installed it also draws docs/images/sums.png.
"""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

from discreet.aggregate import DilutedGeometric, Logarithms, Sender, StreamSum, dealt, encrypted, opened, plan
from discreet.aggregate.curve_group import ORDER, added, multiple, read_point, scalar, written
from discreet.aggregate.small_logarithms import size_for

PLOT = Path(__file__).parents[1] / "docs" / "images" / "sums.png"
PEOPLE = 100_000
CROWDS = (100, 1_000, 10_000, 100_000, 1_000_000)
FAILURES = ("0", "1", "10", "0.1 %", "10 %")
SCHEMES = ("diluted", "gaussian", "masked", "tree-gaussian", "tree", "local")


def failing(text: str, people: int) -> int:
    """How many fail: a number, or a share."""
    return round(float(text.removesuffix(" %")) * people / 100) if text.endswith("%") else int(text)


def messages_a_second(task: StreamSum, folder: Path) -> tuple[float, float]:
    """How many numbers are encrypted in a second, and how many if each is kept in a file first."""
    _, *exponents = dealt(3000)
    base, start = task.point(0), process_time()
    for exponent in exponents:
        encrypted(task.noise.number(100), base, exponent)
    bare = len(exponents) / (process_time() - start)
    senders = [Sender(task, exponent, folder / str(place)) for place, exponent in enumerate(exponents[:300])]
    start = process_time()
    for sender in senders:
        sender.encrypt(100, 0)
    return bare, len(senders) / (process_time() - start)


def summed(task: StreamSum) -> tuple[float, float]:
    """Seconds to make the table, and to read a sum of all, checked. The exponents are 1, 2, 3, … to be quick."""
    base, value = task.point(0), multiple(100)
    mask, messages = base, []
    for _ in range(PEOPLE):
        point = added([mask, value])
        following = added([mask, base])
        assert point is not None
        messages.append(written(point))
        mask = following or base.multiply(scalar(2))  # a point cannot be added to itself
    assert read_point(messages[0]) == added([base, value])
    start = process_time()
    table = Logarithms.made(size_for(task.span))
    made = process_time() - start
    start = process_time()
    total = opened(task, 0, -sum(range(1, PEOPLE + 1)) % ORDER, messages, table)
    taken = process_time() - start
    assert total == 100 * PEOPLE
    return made, taken


def drawn(errors: dict[tuple[str, str, int], float | None]) -> None:
    """How far off each scheme is, for more and more people, where nobody, ten, or a tenth of them fail."""
    try:
        plt: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        return
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
    for axis, failures, words in zip(
        axes, ("0", "10", "10 %"), ("nobody fails", "ten fail", "a tenth fails"), strict=True
    ):
        for place, scheme in enumerate(SCHEMES):
            points = [(n, error) for n in CROWDS if (error := errors[scheme, failures, n]) is not None]
            if points:
                axis.loglog(*zip(*points, strict=True), marker="o", markersize=3, color=f"C{place}", label=scheme)
        axis.set_title(words)
        axis.set_xlabel("people")
        axis.grid(visible=True, alpha=0.3)
    axes[0].set_ylabel("deviation of the sum")
    axes[0].legend(fontsize=8)
    figure.savefig(PLOT, dpi=120)


def main() -> None:
    """Print the tables, and draw."""
    task = StreamSum("bench", DilutedGeometric.of(1, "1e-6", PEOPLE, 255), 1)
    with tempfile.TemporaryDirectory() as folder:
        bare, kept = messages_a_second(task, Path(folder))
    made, taken = summed(task)
    print("| what | processor time |\n|---|---|")
    print(f"| encrypt a number with its noise | {bare:,.0f} a second |")
    print(f"| the same, kept in a file | {kept:,.0f} a second |")
    print(f"| read the sum of {PEOPLE:,} messages, values up to 255 | {taken:.2f} s |")
    print(f"| make its table of {size_for(task.span):,} logarithms, once | {made:.2f} s |")
    errors: dict[tuple[str, str, int], float | None] = {}
    print(f"\n| people | fail | {' | '.join(SCHEMES)} |\n|---|---|{'---|' * len(SCHEMES)}")
    for people in CROWDS:
        for failures in FAILURES:
            found = {one.scheme: one.deviation for one in plan(people, failing(failures, people), 1, "1e-6")}
            errors.update({(scheme, failures, people): found[scheme] for scheme in SCHEMES})
            cells = ("–" if found[scheme] is None else f"{found[scheme]:,.1f}" for scheme in SCHEMES)
            print(f"| {people:,} | {failures} | {' | '.join(cells)} |")
    drawn(errors)


if __name__ == "__main__":
    main()
