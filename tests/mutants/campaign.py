"""Careless edits, one by one, in a copy of the tree: does the quick suite notice?"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutants.chooser import CHOSEN
from mutants.listed import MUTANTS
from mutants.mutant import Edit, Mutant, placed
from mutants.reach import Reach, read
from mutants.recorder import FOLDER

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
    with tempfile.TemporaryDirectory(prefix="discreet-mutants-") as folder:
        copies = [_copied(Path(folder) / str(number) / "discreet") for number in range(given.jobs)]
        notes = given.reach or Path(folder) / "reach"
        if not notes.exists():
            _record(chosen, copies[0], notes, given.jobs)
        outcomes = run(chosen, copies, read(notes), whole=given.whole)
    _table(outcomes)
    return int(any(each.noticed_by is None for each in outcomes))


def run(chosen: Sequence[Mutant], copies: Sequence[Path], reach: Reach, *, whole: bool) -> list[Outcome]:
    """Every mutant, each in a copy of its own, which is put back after it."""
    free: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for copy in copies:
        free.put(copy)

    def one(mutant: Mutant) -> Outcome:
        copy = free.get()
        try:
            return _one(mutant, copy, reach, whole=whole)
        finally:
            free.put(copy)

    outcomes = []
    with ThreadPoolExecutor(len(copies)) as pool:
        for number, outcome in enumerate(pool.map(one, chosen), start=1):
            outcomes.append(outcome)
            mutant, word = outcome.edit.mutant, f"noticed by {outcome.noticed_by}" if outcome.noticed_by else "SURVIVED"
            _say(f"[{number}/{len(chosen)}] {mutant.symbol}: {mutant.why}: {word} ({outcome.seconds:.0f} s)")
    return outcomes


def _record(chosen: Sequence[Mutant], copy: Path, notes: Path, jobs: int) -> None:
    """Run the tests once as things stand: which of them run which line?"""
    suites = sorted({suite for each in chosen for suite in placed(each, copy / "src").suites})
    _say(f"running the quick tests of {', '.join(suites)} once as things stand")
    notes.mkdir(parents=True)
    spread = ["-n", str(jobs), "--dist", "worksteal", "-p", "mutants.recorder"]
    failed = _failed(copy, [*spread, *(f"tests/{suite}" for suite in suites)], {FOLDER: str(notes)}, LONGEST * 4)
    if failed is not None:
        shutil.rmtree(notes)
        sys.exit(f"before any edit {failed} fails")


def _one(mutant: Mutant, copy: Path, reach: Reach, *, whole: bool) -> Outcome:
    edit = placed(mutant, copy / "src")
    before, began = edit.path.read_text(encoding="utf-8"), time.monotonic()
    own = tuple(f"tests/{suite}" for suite in edit.suites)
    near = [test for test in reach.tests(edit, copy / "src") if test.startswith(own)]
    edit.path.write_text(edit.text, encoding="utf-8")
    try:
        noticed = _failed_of(copy, near) if near else None
        if noticed is None and whole:
            noticed = _failed(copy, ["-n", "2", "--dist", "worksteal", *own], {}, LONGEST)
    finally:
        edit.path.write_text(before, encoding="utf-8")
    return Outcome(edit, noticed, time.monotonic() - began)


def _failed_of(copy: Path, tests: list[str]) -> str | None:
    """The first of these that fails, or nothing."""
    listed = copy.parent / "chosen.json"
    listed.write_text(json.dumps(tests), encoding="utf-8")
    files = sorted({test.partition("::")[0] for test in tests})
    return _failed(copy, ["-n", "0", "-p", "mutants.chooser", *files], {CHOSEN: str(listed)}, LONGEST)


def _failed(copy: Path, arguments: list[str], variables: Mapping[str, str], seconds: float) -> str | None:
    """The first test that fails, or nothing."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(copy / "src"), str(copy / "tests")]),
        "PYTHONDONTWRITEBYTECODE": "1",  # no byte code of the line as it was may answer for it
        **variables,
    }
    always = ["-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", "-m", "not slow"]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *always, *arguments],
            cwd=copy, env=environment, capture_output=True, encoding="utf-8", errors="replace", check=False,
            timeout=seconds,
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
        "--near",
        dest="whole",
        action="store_false",
        help="ask only the tests that run the line, not then the room's others (which may run it in another process)",
    )
    parser.add_argument("--reach", type=Path, help="keep which test runs which line in this folder, or take it from it")
    parser.add_argument("--list", action="store_true", help="print them and stop")
    return parser


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # it is what one looks at
