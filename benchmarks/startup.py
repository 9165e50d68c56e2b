"""`discreet --help` answers in under 0.3 s: it imports no numpy, scipy, dp_accounting or cryptography."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.timing import best


def run(*arguments: str) -> None:
    """Start this interpreter and wait until it is done."""
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603


def main() -> None:
    """Our start against the interpreter's own, and against what a plain import of our dependencies would cost."""
    bare, ours, eager = best(
        lambda: run("-c", "pass"),
        lambda: run("-m", "discreet", "--help"),
        lambda: run("-c", "import numpy, scipy.stats, dp_accounting, cryptography"),
        turns=10,
    )
    print("| what | time | bare `python -c pass` | ratio |")
    print("|---|---|---|---|")
    for what, taken in (("`discreet --help`", ours), ("importing what it leaves for later", eager)):
        print(f"| {what} | {1000 * taken:.0f} ms | {1000 * bare:.0f} ms | {taken / bare:.1f} |")


if __name__ == "__main__":
    main()
