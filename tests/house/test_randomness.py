"""No seed is reachable from what is installed: the only source of bits in it is the operating system's."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from house.tree import SOURCE

MODULES = sorted(SOURCE.rglob("*.py"))
SEEDS = {"seed", "random_state", "random_seed", "prng_key"}


def parameters(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            everyone = (*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg)
            yield from (argument.arg for argument in everyone if argument)


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield ast.unparse(node).replace("np.", "numpy.", 1)


def sources(tree: ast.AST) -> Iterator[str]:
    """Classes that can hand out bits."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            if methods & {"bits", "raw"}:
                yield node.name


def predictable(name: str) -> bool:
    return any(
        name == module or name.startswith(f"{module}.") for module in ("random", "numpy.random", "scipy.stats.rvs")
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_parameter_takes_a_seed_and_no_predictable_generator_is_used(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert SEEDS.isdisjoint(parameters(tree))
    assert [name for name in imported(tree) if predictable(name)] == []


def test_the_only_source_of_bits_is_the_operating_system() -> None:
    found = [name for path in MODULES for name in sources(ast.parse(path.read_text(encoding="utf-8")))]
    assert sorted(found) == ["Entropy", "Secure"]


@pytest.mark.parametrize(
    "text",
    [
        "import random",
        "from random import Random",
        "import numpy.random",
        "from numpy import random",
        "import numpy as np\nnp.random.default_rng()",
        "from numpy.random import default_rng",
    ],
)
def test_the_scan_would_see_it(text: str) -> None:
    assert any(map(predictable, imported(ast.parse(text))))


@pytest.mark.parametrize("text", ["def f(seed): ...", "def f(*, random_state=None): ...", "lambda seed: 0"])
def test_the_scan_would_see_a_seed(text: str) -> None:
    assert not SEEDS.isdisjoint(parameters(ast.parse(text)))
