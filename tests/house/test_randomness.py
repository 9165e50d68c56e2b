"""No seed is reachable from what is installed: the only source of bits in it is the operating system's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import pytest
from house.tree import SOURCE

SEEDS = {"seed", "random_state", "random_seed", "prng_key"}


def parameters(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.arguments):
        everyone = (*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg)
        yield from (argument.arg for argument in everyone if argument)


def imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Attribute):
        yield dotted(node).replace("np.", "numpy.", 1)


def dotted(node: ast.expr) -> str:
    """A name with dots; what is none ends it."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{dotted(value)}.{name}"
    return ""


def sources(node: ast.AST) -> Iterator[str]:
    """A class that can hand out bits."""
    if isinstance(node, ast.ClassDef):
        methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        if methods & {"bits", "raw"}:
            yield node.name


def predictable(name: str) -> bool:
    return any(
        name == module or name.startswith(f"{module}.") for module in ("random", "numpy.random", "scipy.stats.rvs")
    )


def found(look: Callable[[ast.AST], Iterator[str]], text: str) -> set[str]:
    return {name for node in ast.walk(ast.parse(text)) for name in look(node)}


def test_no_parameter_takes_a_seed_no_predictable_generator_is_used_and_bits_come_from_the_operating_system() -> None:
    hand_out: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        assert SEEDS.isdisjoint(name for node in nodes for name in parameters(node)), path
        assert [name for node in nodes for name in imported(node) if predictable(name)] == [], path
        hand_out += [name for node in nodes for name in sources(node)]
    assert sorted(hand_out) == ["Entropy", "Secure"]


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
    assert any(map(predictable, found(imported, text)))


@pytest.mark.parametrize("text", ["def f(seed): ...", "def f(*, random_state=None): ...", "lambda seed: 0"])
def test_the_scan_would_see_a_seed(text: str) -> None:
    assert not SEEDS.isdisjoint(found(parameters, text))


def test_the_scan_would_see_a_source_of_bits() -> None:
    assert found(sources, "class Mine:\n    def raw(self, size): ...") == {"Mine"}
