"""Which tests run a line: they are asked first, the quickest of them before the others."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import coverage
from mutants.mutant import Edit


@dataclass(frozen=True)
class Reach:
    """What `mutants.recorder` noted in a folder."""

    folder: Path
    seconds: Mapping[str, float]  # of every test

    def tests(self, edit: Edit, source: Path) -> list[str]:
        """Those that run what the edit changes, the quickest first."""
        before = edit.path.read_text(encoding="utf-8")
        lines = set(changed(before, edit.text))
        name = str(Path("src") / edit.path.relative_to(source))
        found: set[str] = set()
        for path in self.folder.glob("*.coverage"):
            data = coverage.CoverageData(str(path))
            data.read()
            for line, contexts in data.contexts_by_lineno(name).items():
                if line in lines:
                    found.update(contexts)
            data.close()
        return sorted(found - {""}, key=lambda test: self.seconds.get(test, 0.0))


def read(folder: Path) -> Reach:
    """What was noted there."""
    seconds: dict[str, float] = {}
    for path in folder.glob("*.json"):
        seconds |= json.loads(path.read_text(encoding="utf-8"))
    return Reach(folder, seconds)


def changed(before: str, after: str) -> Iterator[int]:
    """The numbers of the lines that differ, with the rest of the statements they stand in: one may be noted for all."""
    old, new = before.splitlines(), after.splitlines()
    head = _alike(old, new)
    tail = _alike(old[:head:-1], new[:head:-1])
    touched = set(range(head + 1, max(len(old) - tail, head + 1) + 1))
    yield from touched
    for node in ast.walk(ast.parse(before)):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            own = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            if touched & set(own):
                yield from own


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
