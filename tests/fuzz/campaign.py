"""A campaign: made-up questions, one after the other, until the time or the number is up.

Half of the time a text is asked of two neighbouring homes, which must say the same but for the noise; the other half
made-up tables are asked at an enormous price, and must say what plain DuckDB says.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import differential.campaign as beside_plain
from differential.asking import Report as Compared
from fuzz import grammar, words
from fuzz.check import Failure, Verdict, check
from fuzz.neighbours import VARIETIES, Pair

RENEWED = 400  # cases after which the homes begin again, so that their ledgers stay short
SHRINKING = 45.0  # seconds to make a failing text shorter
SPOKEN = 60.0  # seconds between two lines of progress


@dataclass
class Report:
    """What a campaign has seen so far."""

    outcomes: Counter[str] = field(default_factory=Counter)
    found: dict[str, tuple[int, str, Failure]] = field(default_factory=dict)  # by its mark: seed, text, trouble
    times: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, int] = (0.0, 0)

    def __str__(self) -> str:
        seconds, seed = self.slowest
        counts = ", ".join(f"{number} {outcome}" for outcome, number in sorted(self.outcomes.items()))
        return f"{self.outcomes.total()} cases: {counts}; slowest {seconds:.1f} s (seed {seed})"


def terms(seed: int) -> dict[str, object]:
    """How the text of a seed is asked: as declared, or under caps of its own."""
    rng = random.Random(seed)
    if rng.random() < 0.6:
        return {}
    return {"max_rows": rng.choice([None, 1, 2, 7, 1000]), "max_groups": rng.choice([None, 1, 2, 10])}


def variety_of(seed: int) -> str:
    """Of which kind the homes are that the text of a seed is asked of: half of them the usual one."""
    return random.Random(f"homes {seed}").choice([VARIETIES[0], *VARIETIES])


def how(seed: int) -> str:
    """Of what homes and on what terms the text of a seed is asked."""
    return f"{variety_of(seed)} {terms(seed)}"


def case(pair: Pair, seed: int) -> tuple[str, Verdict]:
    """The text of a seed, and how it fares."""
    text = grammar.question(seed)
    return text, check(pair, text, terms(seed), seed)


def shrunk(pair: Pair, text: str, seed: int, mark: str) -> str:
    """A shorter text with the same trouble: parentheses and words are taken out, many at a time, then one by one."""
    parts, end = words.split(text), time.monotonic() + SHRINKING
    size = len(parts) // 2
    while size and time.monotonic() < end:
        start, shorter = 0, False
        while start < len(parts) and time.monotonic() < end:
            for last in (_closing(parts, start), start + size):
                fewer = parts[:start] + parts[last:]
                failure = check(pair, "".join(fewer), terms(seed), seed).failure if last > start else None
                if failure is not None and failure.mark == mark:
                    parts, shorter = fewer, True
                    break
            else:
                start += size
        size = size if shorter and size == 1 else size // 2
    return "".join(parts).strip()


def _closing(parts: list[str], start: int) -> int:
    """Behind the parenthesis that closes the one here; here, if there is none."""
    depth = 0
    for place in range(start, len(parts)):
        depth += (parts[place].strip() == "(") - (parts[place].strip() == ")")
        if depth <= 0:
            return place + 1 if place > start else start
    return start


def campaign(first: int, step: int, seconds: float) -> Report:
    """Run cases `first`, `first + step`, … for so long."""
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of every text that it cannot read
    report, end, spoken = Report(), time.monotonic() + seconds, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        pairs = {variety: Pair(Path(folder) / variety, variety) for variety in VARIETIES}
        for number, seed in enumerate(_counted(first, step), start=1):
            if time.monotonic() > end:
                break
            if number % RENEWED == 0:
                for pair in pairs.values():
                    pair.again()
            _one(pairs[variety_of(seed)], seed, report)
            if time.monotonic() - spoken > SPOKEN:
                spoken = time.monotonic()
                print(f"[{first % step}] {report}", flush=True)  # noqa: T201
        for pair in pairs.values():
            pair.close()
    return report


def _counted(first: int, step: int) -> Iterator[int]:
    while True:
        yield first
        first += step


def _one(pair: Pair, seed: int, report: Report) -> None:
    began = time.monotonic()
    text, verdict = case(pair, seed)
    report.slowest = max(report.slowest, (time.monotonic() - began, seed))
    report.outcomes[verdict.outcome] += 1
    if (failure := verdict.failure) is None:
        return
    report.times[failure.mark] += 1
    if failure.mark not in report.found:
        short = shrunk(pair, text, seed, failure.mark)
        failure = check(pair, short, terms(seed), seed).failure or failure
        report.found[failure.mark] = (seed, short, failure)
        print(f"FAILED seed {seed} {how(seed)} {failure.kind}: {failure.detail}\n    {short}", flush=True)  # noqa: T201


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=None, help="by default another one every time")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args(arguments)
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(10**6)
    first = seed * 10**7
    print(f"seed {seed}, {given.jobs} jobs, {given.seconds:g} seconds", flush=True)  # noqa: T201
    if given.jobs == 1:
        halves = [both(first, 1, given.seconds)]
    else:
        with ProcessPoolExecutor(given.jobs, multiprocessing.get_context("spawn")) as pool:
            jobs = [pool.submit(both, first + i, given.jobs, given.seconds) for i in range(given.jobs)]
            halves = [job.result() for job in jobs]
    told = _closed([neighbours for neighbours, _ in halves])
    return max(told, beside_plain.closed([compared for _, compared in halves]))


def both(first: int, step: int, seconds: float) -> tuple[Report, Compared]:
    """Half of the time beside a neighbour, half beside plain DuckDB."""
    neighbours = campaign(first, step, seconds / 2)
    return neighbours, beside_plain.campaign(first, step, seconds / 2, beside_plain.say)


def _closed(reports: list[Report]) -> int:
    found = {mark: each for report in reports for mark, each in report.found.items()}
    times = sum((report.times for report in reports), Counter[str]())
    for report in reports:
        print(report)  # noqa: T201
    for mark, (seed, text, failure) in found.items():
        print(f"{times[mark]}× {failure.kind} (seed {seed}, {how(seed)}): {failure.detail}\n    {text}")  # noqa: T201
    print(f"{len(found)} kinds of failure")  # noqa: T201
    return 1 if found else 0
