"""Careless edits, one by one, in a copy of the tree: does the quick suite notice?"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants.listed import MUTANTS
from mutants.mutant import Edit, Mutant, placed

ROOT = Path(__file__).parents[2]
LONGEST = 900.0  # seconds for the tests of one mutant; one that makes them hang is noticed


@dataclass(frozen=True)
class Outcome:
    """How a mutant fared."""

    edit: Edit
    noticed_by: str | None
    seconds: float


def main() -> int:
    """Run the chosen ones, print the table and the survivors; 1 where one survived."""
    given = _parser().parse_args()
    chosen = [each for each in MUTANTS if _wanted(placed(each, ROOT / "src"), given.rooms, given.match)]
    if given.list:
        for each in chosen:
            _say(_told(each))
        return 0
    outcomes = run(chosen, given.jobs, everywhere=given.everywhere)
    _table(outcomes)
    return int(any(each.noticed_by is None for each in outcomes))


def run(chosen: Sequence[Mutant], jobs: int, *, everywhere: bool) -> list[Outcome]:
    """Every mutant in turn, each in the same copy, which is put back after it."""
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="discreet-mutants-") as folder:
        copy = _copied(Path(folder) / "discreet")
        for number, mutant in enumerate(chosen, start=1):
            outcome = _one(mutant, copy, jobs, everywhere=everywhere)
            outcomes.append(outcome)
            word = f"noticed by {outcome.noticed_by}" if outcome.noticed_by else "SURVIVED"
            _say(f"[{number}/{len(chosen)}] {mutant.symbol}: {mutant.why}: {word} ({outcome.seconds:.0f} s)")
    return outcomes


def _one(mutant: Mutant, copy: Path, jobs: int, *, everywhere: bool) -> Outcome:
    edit = placed(mutant, copy / "src")
    before, began = edit.path.read_text(encoding="utf-8"), time.monotonic()
    edit.path.write_text(edit.text, encoding="utf-8")
    try:
        noticed = _noticed(copy, [f"tests/{each}" for each in edit.suites], jobs)
        if noticed is None and everywhere:
            noticed = _noticed(copy, ["tests"], jobs)
    finally:
        edit.path.write_text(before, encoding="utf-8")
    return Outcome(edit, noticed, time.monotonic() - began)


def _noticed(copy: Path, suites: list[str], jobs: int) -> str | None:
    """The first test that fails, or nothing."""
    # The line of the tests alone decides: no cached byte code of the line before may answer for it.
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    spread = ["-n", str(jobs), "--dist", "worksteal"] if jobs > 1 else ["-n", "0"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "--tb=no",
        "-rfE",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow",
    ]
    try:
        done = subprocess.run(
            [*command, *spread, *suites],
            cwd=copy, env=environment, capture_output=True, encoding="utf-8", errors="replace", check=False,
            timeout=LONGEST,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "its time"
    if done.returncode == 0:
        return None
    named = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return named.group(1) if named else f"the run itself (exit {done.returncode})"


def _copied(place: Path) -> Path:
    """What git knows of, as it lies here, changed or not."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=ROOT, capture_output=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    return place


def _wanted(edit: Edit, rooms: list[str], match: str) -> bool:
    return (not rooms or edit.room in rooms) and match in _told(edit.mutant)


def _told(mutant: Mutant) -> str:
    return f"{mutant.symbol}: {mutant.find!r} -> {mutant.put!r}: {mutant.why}"


def _table(outcomes: Sequence[Outcome]) -> None:
    _say("\nroom            edits  noticed  of a guarantee  noticed")
    for room in sorted({each.edit.room for each in outcomes}):
        here = [each for each in outcomes if each.edit.room == room]
        heavy = [each for each in here if each.edit.mutant.guarantee]
        counts = [len(here), _number(here), len(heavy), _number(heavy)]
        _say(f"{room:<15} {counts[0]:>5}  {counts[1]:>7}  {counts[2]:>14}  {counts[3]:>7}")
    _say(f"\n{_number(outcomes)} of {len(outcomes)} noticed")
    for each in outcomes:
        if each.noticed_by is None:
            _say(f"survived: {_told(each.edit.mutant)}")


def _number(outcomes: Sequence[Outcome]) -> int:
    return sum(each.noticed_by is not None for each in outcomes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("rooms", nargs="*", help="rooms to look at; by default all")
    parser.add_argument("--match", default="", help="only those whose symbol, text or reason has this in it")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--everywhere", action="store_true", help="ask the whole quick suite where the room's is silent"
    )
    parser.add_argument("--list", action="store_true", help="print them and stop")
    return parser


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # it is what one looks at
