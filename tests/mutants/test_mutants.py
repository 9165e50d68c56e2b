"""The list of careless edits speaks of code that is there."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from mutants.listed import MUTANTS
from mutants.mutant import Misplaced, Mutant, placed
from mutants.reach import changed

SOURCE = Path(__file__).parents[2] / "src"


def test_every_edit_has_its_place() -> None:
    assert {f"{mutant.symbol}: {mutant.find}": wrong for mutant in MUTANTS if (wrong := misfit(mutant))} == {}


def misfit(mutant: Mutant) -> str:
    """What is wrong with an edit; empty if nothing is."""
    try:
        edit = placed(mutant, SOURCE)
    except (Misplaced, SyntaxError) as broken:
        return str(broken)
    if edit.text == edit.path.read_text(encoding="utf-8"):
        return "it changes nothing"
    if not all((SOURCE.parent / "tests" / suite).exists() for suite in edit.suites):
        return "there is no such suite"
    return "" if mutant.why else "it says no reason"


def test_an_edit_that_fits_nowhere_is_told() -> None:
    good = MUTANTS[0]
    wrong = {
        "stands there 0 times": replace(good, find="what stands nowhere"),
        "it changes nothing": replace(good, put=good.find),
        "there is no such suite": replace(good, tests=("nowhere",)),
        "it says no reason": replace(good, why=""),
    }
    assert misfit(good) == ""
    assert [said for said, mutant in wrong.items() if said not in misfit(mutant)] == []


def test_no_edit_is_listed_twice() -> None:
    assert [
        edit for edit, times in Counter((each.symbol, each.find, each.put) for each in MUTANTS).items() if times > 1
    ] == []


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "discreet" / "room").mkdir(parents=True)
    text = "LIMIT = 1\n\n\nclass A:\n    @property\n    def b(self):\n        return 1 + 1\n"
    (tmp_path / "discreet" / "room" / "part.py").write_text(text)
    edit = placed(Mutant("A.b", "1 + 1", "1 - 1", "why"), tmp_path)
    assert (edit.room, edit.path.name, edit.text) == ("room", "part.py", text.replace("1 + 1", "1 - 1"))
    assert placed(Mutant("LIMIT", "1", "2", "why"), tmp_path).text.startswith("LIMIT = 2")
    for symbol, find in (("A.b", "1"), ("A.c", "1 + 1"), ("B", "1"), ("A", "2")):
        with pytest.raises(Misplaced):
            placed(Mutant(symbol, find, "3", "why"), tmp_path)


def test_a_line_is_noted_for_the_whole_statement() -> None:
    before = "def f():\n    return g(\n        1,\n        2,\n    )\n\n\nLIMIT = 1\n"
    assert set(changed(before, before.replace("2,", "3,"))) == {2, 3, 4, 5}
    assert set(changed(before, before.replace("def f():", "def f(x=1):"))) == {1}
    assert set(changed(before, before.replace("LIMIT = 1", "LIMIT = 2"))) == {8}
    assert set(changed(before, before.replace("        1,\n", ""))) == {2, 3, 4, 5}
