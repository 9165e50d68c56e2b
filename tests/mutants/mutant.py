"""A careless edit: one line of the source as a tired person might leave it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    """An edit inside a symbol, and why it would matter. The symbol is found wherever it lives: modules move."""

    symbol: str  # without its module: Pure.group
    find: str  # in all that bears that name together it stands once
    put: str
    why: str
    tests: tuple[str, ...] = ()  # folders or files below tests/; by default the room of the symbol
    guarantee: bool = True  # whether it weakens a guarantee, or "only" a number that people read


@dataclass(frozen=True)
class Edit:
    """A mutant in its place."""

    mutant: Mutant
    path: Path
    room: str
    text: str  # of the whole file, with the edit in it

    @property
    def suites(self) -> tuple[str, ...]:
        """What should notice it."""
        return self.mutant.tests or (self.room,)


class Misplaced(Exception):
    """The list speaks of code that is no longer there."""


def placed(mutant: Mutant, source: Path) -> Edit:
    """Where a mutant stands in the package below `source`."""
    there = [place for place in _named_so(mutant, source) if mutant.find in place.text]
    times = sum(place.text.count(mutant.find) for place in there)
    if times != 1:
        raise Misplaced(f"{mutant.symbol}: {mutant.find!r} stands there {times} times, not once")
    (place,) = there
    lines = place.path.read_text(encoding="utf-8").splitlines(keepends=True)
    edited = place.text.replace(mutant.find, mutant.put)
    text = "".join([*lines[: place.first - 1], edited, *lines[place.last :]])
    compile(text, str(place.path), "exec")  # what does not even compile is noticed by anything
    return Edit(mutant, place.path, place.path.relative_to(source).parts[1].removesuffix(".py"), text)


@dataclass(frozen=True)
class _Place:
    path: Path
    first: int
    last: int
    text: str


def _named_so(mutant: Mutant, source: Path) -> Iterator[_Place]:
    """All that bears its name, in the files that hold what it looks for."""
    for path, text in _texts(source):
        if mutant.find in text:
            yield from _symbols(path, text).get(mutant.symbol, [])


@cache
def _texts(source: Path) -> tuple[tuple[Path, str], ...]:
    return tuple((path, path.read_text(encoding="utf-8")) for path in sorted(source.rglob("*.py")))


@cache
def _symbols(path: Path, text: str) -> dict[str, list[_Place]]:
    """All that has a name, decorators included."""
    places: dict[str, list[_Place]] = {}
    lines = text.splitlines(keepends=True)
    for name, node in _named(ast.parse(text), ""):
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        last = node.end_lineno or node.lineno
        places.setdefault(name, []).append(_Place(path, first, last, "".join(lines[first - 1 : last])))
    return places


def _named(node: ast.AST, above: str) -> Iterator[tuple[str, ast.stmt]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield above + name, child
                yield from _named(child, f"{above}{name}.")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield above + name, child
