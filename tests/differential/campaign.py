"""Worlds, one after the other, until the time is up. What fails is asked again of fewer rows, and told whole."""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

from differential.asking import QUESTIONS, Report, Trouble, asked, opened, run
from differential.told import told

SMALLER = (1, 2, 3, 5, 9, 20, 60)  # rows of a world that is made smaller
SHRUNK = 5  # kinds of trouble that are made smaller; more of them have few causes
SPOKEN = 60.0  # seconds between two lines of progress


def smallest(trouble: Trouble) -> Trouble:
    """The same question with the same kind of trouble in a world of fewer rows, if there is one."""
    for rows in SMALLER:
        report = Report()
        with opened(trouble.seed, rows) as place:
            asked(place, trouble.number, report)
        if report.troubles and report.troubles[0].mark == trouble.mark:
            return report.troubles[0]
    return trouble


def campaign(first: int, step: int, seconds: float, say: Callable[[str], None]) -> Report:
    """Worlds `first`, `first + step`, … for so long. A new kind of trouble is told at once, as small as it gets."""
    report, end, spoken, known = Report(), time.monotonic() + seconds, time.monotonic(), set[str]()
    seed = first
    while time.monotonic() < end:
        found = run(seed, end=end)
        report.add(found)
        for trouble in found.troubles:
            if trouble.mark not in known:
                known.add(trouble.mark)
                say(told(smallest(trouble) if len(known) <= SHRUNK else trouble))
        if time.monotonic() - spoken > SPOKEN:
            spoken = time.monotonic()
            say(f"[{first % step}] {report}")
        seed += step
    return report


def say(text: str) -> None:
    """To whoever watches."""
    print(text, flush=True)  # noqa: T201


def closed(reports: list[Report]) -> int:
    """The end of a campaign: 1 if anything was amiss."""
    together = Report()
    for report in reports:
        together.add(report)
    say(f"differential: {together}")
    seldom = together.seldom_answered()
    for line in seldom:
        say(line)
    return 1 if together.troubles or seldom else 0


def main(arguments: list[str] | None = None) -> int:
    """One seed, one question of it, or all for a while; 1 if anything was amiss."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="of the world; by default many, from a new one on")
    parser.add_argument("--question", type=int, default=None, help="of the seed; by default all")
    parser.add_argument("--rows", type=int, default=None, help="of the main table; by default as the seed says")
    parser.add_argument("--seconds", type=float, default=60, help="without a seed")
    given = parser.parse_args(arguments)
    if given.seed is None:
        first = random.SystemRandom().randrange(10**6) * 10**4
        return closed([campaign(first, 1, given.seconds, say)])
    report = Report()
    with opened(given.seed, given.rows) as place:
        for number in range(QUESTIONS) if given.question is None else [given.question]:
            asked(place, number, report)
    for trouble in report.troubles:
        say(told(trouble))
    return closed([report])
