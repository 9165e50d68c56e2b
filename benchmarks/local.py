"""Local clients make millions of exact reports a second, servers add up as many, and errors are those of theory.

Asked for at ε = 1 and 100 values: clients ≥ 10 M reports/s (response, hashing, Hadamard) and ≥ 0.3 M/s (optimized
unary), servers ≥ 0.5 M/s (hashing) and ≥ 20 M/s (Hadamard), ≥ 10 times the best peer on both of those, and a mean
squared error over theory in [0.9, 1.1] over 40 runs. A server's time is that of the tally and the estimate. We make
reports for a crowd at once, the peers for a person a call.
"""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import best
from discreet.local import (
    DuchiMean,
    Hadamard,
    HybridMean,
    LocalHashing,
    OptimizedUnary,
    Oracle,
    PiecewiseMean,
    Response,
    SubsetSelection,
    SymmetricUnary,
)

PEERS = Path(__file__).parent.parent / ".peers" / "pure-ldp" / "bin" / "python"  # with multi-freq-ldpy and discreet
PEOPLE, VALUES, RUNS, FEW = 2_000_000, 100, 40, 20_000
E, ROOT = math.e, math.exp(0.5)
SET, CELLS = round(VALUES / (E + 1)), round(E) + 1
Crowd = NDArray[np.int64]

# (p, q) of the textbooks, in floats, and of how many of the people reports are made at a time
KINDS: dict[Any, tuple[float, float, int]] = {
    Response: (E / (E + VALUES - 1), 1 / (E + VALUES - 1), PEOPLE),
    SymmetricUnary: (ROOT / (ROOT + 1), 1 / (ROOT + 1), PEOPLE // 4),
    OptimizedUnary: (1 / 2, 1 / (E + 1), PEOPLE // 4),
    LocalHashing: (E / (E + CELLS - 1), 1 / CELLS, PEOPLE),
    Hadamard: (E / (E + 1), 1 / 2, PEOPLE),
    SubsetSelection: (
        E * SET / (E * SET + VALUES - SET),
        (E * SET * (SET - 1) + (VALUES - SET) * SET) / (VALUES - 1) / (E * SET + VALUES - SET),
        PEOPLE // 4,
    ),
}


def crowd(people: int) -> Crowd:
    """A few values with many people, many with few, in a fixed order that no cache can guess."""
    ends = np.cumsum(1 / np.arange(1, VALUES + 1))
    places = (np.arange(people) * 0.6180339887498949) % 1 * ends[-1]
    values: Crowd = np.searchsorted(ends, places, side="right").astype(np.int64)
    return values


def error_ratio(client: Oracle, p: float, q: float, people: int) -> float:
    """The mean squared error of all counts over 40 runs, over that of theory."""
    values = crowd(people)
    truth = np.bincount(values, minlength=VALUES)
    theory = people * q * (1 - q) / (p - q) ** 2 + truth * (1 - p - q) / (p - q)
    squares = [(client.estimate(client.tally(client.batch(values))).counts - truth) ** 2 for _ in range(RUNS)]
    return float(np.mean(squares) / np.mean(theory))


def oracles() -> dict[Any, tuple[float, float]]:
    """A row for each oracle; gives back the rates of client and server."""
    print("| oracle, k = 100 | bytes | client, M/s | server, M/s | squared error / theory |")
    print("|---|---|---|---|---|")
    rates = {}
    for kind, (p, q, people) in KINDS.items():
        client, values = kind(1, VALUES), crowd(people)
        reports = client.batch(values)
        made, added = best(partial(client.batch, values), partial(served, client, reports))
        rates[kind] = people / made, people / added
        ratio = error_ratio(client, p, q, FEW)
        cells = f"{people / made / 1e6:.1f} | {people / added / 1e6:.1f} | {ratio:.3f}"
        print(f"| `{type(client).__name__}` | {client.form.itemsize} | {cells} |")
    return rates


def means() -> None:
    """A row for each mean."""
    print("\n| mean, ε = 1 | bytes | client, M/s | server, M/s | squared error / theory |")
    print("|---|---|---|---|---|")
    numbers = np.sin(np.arange(PEOPLE // 2))
    duchi = ((E + 1) / (E - 1)) ** 2 - numbers**2
    piecewise = numbers**2 / (ROOT - 1) + (ROOT + 3) / (3 * (ROOT - 1) ** 2)
    hybrid = (1 - 1 / ROOT) * piecewise + duchi / ROOT
    for client, theory in (
        (DuchiMean(Fraction(1)), duchi),
        (PiecewiseMean(Fraction(1)), piecewise),
        (HybridMean(Fraction(1)), hybrid),
    ):
        reports = client.batch(numbers)
        made, added = best(partial(client.batch, numbers), partial(served, client, reports))
        group = 100
        guesses = [
            float(client.estimate(client.tally(reports[i * group : (i + 1) * group])).value) for i in range(4000)
        ]
        misses = np.array(guesses) - numbers[: 4000 * group].reshape(4000, group).mean(axis=1)
        ratio = np.mean(misses**2) / (theory[: 4000 * group].mean() / group)
        cells = f"{numbers.size / made / 1e6:.1f} | {numbers.size / added / 1e6:.1f} | {ratio:.3f}"
        print(f"| `{type(client).__name__}` | {client.form.itemsize} | {cells} |")


def taken(work: Callable[[], object]) -> float:
    """Seconds, best of two."""
    return best(work, turns=2)[0]


def served(client: Any, reports: Any) -> object:
    """What our server does with reports."""
    guess = client.estimate(client.tally(reports))
    return guess.counts if isinstance(client, Oracle) else guess


def aggregated(server: Callable[[], Any], reports: list[Any]) -> object:
    """What the server of pure-ldp does with them."""
    fresh = server()
    fresh.aggregate_all(reports)
    return fresh.estimate_all(range(VALUES), suppress_warnings=True)


def each(one: Callable[[int], Any], values: list[int]) -> list[Any]:
    """A call a person."""
    return [one(value) for value in values]


def called(client: Callable[..., Any], *terms: Any) -> Any:
    """The value comes last, and goes first."""
    return client(terms[-1], *terms[:-1])


def pure_ldp(values: list[int]) -> dict[Any, tuple[float, float]]:
    """Rates of pure-ldp: a call a person, and a server of Python objects."""
    room = "pure_ldp.frequency_oracles"
    hashing, hadamard = (importlib.import_module(f"{room}.{name}") for name in ("local_hashing", "hadamard_response"))
    unary, direct = (importlib.import_module(f"{room}.{name}") for name in ("unary_encoding", "direct_encoding"))
    same = {"index_mapper": lambda value: value}
    rows = hadamard.HadamardResponseServer(1.0, VALUES, **same)
    makers: dict[Any, tuple[Any, Any, int]] = {
        Response: (direct.DEClient(1.0, VALUES, **same), lambda: direct.DEServer(1.0, VALUES, **same), len(values)),
        OptimizedUnary: (
            unary.UEClient(1.0, VALUES, use_oue=True, **same),
            lambda: unary.UEServer(1.0, VALUES, use_oue=True, **same),
            len(values),
        ),
        LocalHashing: (
            hashing.LHClient(1.0, VALUES, use_olh=True, **same),
            lambda: hashing.LHServer(1.0, VALUES, use_olh=True, **same),
            len(values) // 10,
        ),
        Hadamard: (
            hadamard.HadamardResponseClient(1.0, VALUES, rows.get_hash_funcs(), **same),
            lambda: hadamard.HadamardResponseServer(1.0, VALUES, **same),
            len(values),
        ),
    }
    found = {}
    for kind, (client, server, people) in makers.items():
        some = values[:people]
        reports = each(client.privatise, some)
        made = taken(partial(each, client.privatise, some))
        found[kind] = people / made, people / taken(partial(aggregated, server, reports))
    return found


def multi_freq(values: list[int]) -> dict[Any, tuple[float, float]]:
    """Rates of multi-freq-ldpy: compiled calls, one a person."""
    room = "multi_freq_ldpy.pure_frequency_oracles"
    names = {Response: "GRR", OptimizedUnary: "UE", LocalHashing: "LH", SubsetSelection: "SS"}
    optimal = {OptimizedUnary: (True,), LocalHashing: (True,)}
    found = {}
    for kind, name in names.items():
        module, more = importlib.import_module(f"{room}.{name}"), optimal.get(kind, ())
        client, server = getattr(module, f"{name}_Client"), getattr(module, f"{name}_Aggregator_MI")
        some = values[: len(values) // 10] if kind is LocalHashing else values
        one = partial(called, client, VALUES, 1.0, *more)
        reports = each(one, some)  # which compiles it, too
        told = (reports, 1.0) if kind is OptimizedUnary else (reports, VALUES, 1.0)
        found[kind] = len(some) / taken(partial(each, one, some)), len(some) / taken(partial(server, *told, *more))
    return found


def peers(ours: dict[Any, tuple[float, float]]) -> None:
    """Our rates over those of each library that is here, in this process."""
    values, rows = crowd(FEW).tolist(), []
    for name, measure in (("pure-ldp", pure_ldp), ("multi-freq-ldpy", multi_freq)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = measure(values)
        except ImportError:
            print(f"\n{name} is not installed here, so nothing is said about it.")
            continue
        for kind, (made, added) in theirs.items():
            mine = ours[kind]
            rows.append(
                f"| `{kind.__name__}` | {name} | {made / 1e3:.0f} k/s | {mine[0] / made:.0f} | {added / 1e3:.1f} k/s "
                f"| {mine[1] / added:.0f} |"
            )
    if rows:
        print("\n| oracle, k = 100 | peer | its client | ours / its | its server | ours / its |")
        print("|---|---|---|---|---|---|", *sorted(rows), sep="\n")


def main() -> None:
    """In the environment of the peers, if there is one: then all are timed in one process."""
    if PEERS.exists() and Path(sys.executable).absolute() != PEERS.absolute():
        subprocess.run([str(PEERS), "-m", "benchmarks.local"], check=True)  # noqa: S603  # ourselves
        return
    rates = oracles()
    means()
    peers(rates)


if __name__ == "__main__":
    main()
