"""Pages of proofs name the code they speak of, and that code is there."""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path

import pytest
from house.tree import ROOT

PAGES = sorted((ROOT / "docs" / "proofs").glob("*.md"))


@cache
def modules() -> dict[str, str]:
    """The text of every module, by its dotted name."""
    paths = {path: path.relative_to(ROOT / "src").with_suffix("").parts for path in (ROOT / "src").rglob("*.py")}
    return {".".join(parts).removesuffix(".__init__"): path.read_text() for path, parts in paths.items()}


def defining(name: str) -> list[str]:
    """The modules that define such a class."""
    return [module for module, text in modules().items() if re.search(rf"(?m)^class {name}\b", text)]


def reached(whole: object, path: list[str]) -> bool:
    """Whether there is such an attribute, or such a field of a dataclass."""
    for name in path:
        if not hasattr(whole, name) and name not in getattr(whole, "__annotations__", {}):
            return False
        whole = getattr(whole, name, None)
    return True


def there(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 1, -1):
        if ".".join(parts[:cut]) in modules():
            return reached(importlib.import_module(".".join(parts[:cut])), parts[cut:])
    return False


def room_of(name: str) -> str:
    """The package in which a dotted name is."""
    while name not in modules() or not hasattr(importlib.import_module(name), "__path__"):
        name = name.rpartition(".")[0]
    return name


def missing(page: Path) -> list[str]:
    """What the first sentence names that is not there: whole names, siblings of the one before, classes."""
    sentence = re.search(r"(?ms)^Code: (.*?)\.(?=\s)", page.read_text(encoding="utf-8"))
    if sentence is None:
        return []
    gone, room = [], "discreet"
    for name in re.findall(r"`([A-Za-z_.]+)`", sentence[1]):
        if name.startswith("discreet."):
            held = there(name)
            room = room_of(name) if held else room
        elif name[0].isupper():
            first, *rest = name.split(".")
            held = any(reached(importlib.import_module(module), [first, *rest]) for module in defining(first))
        else:
            held = there(f"{room}.{name.lstrip('.')}")
        gone += [] if held else [name]
    return gone


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_that_a_proof_is_about_is_there(page: Path) -> None:
    assert missing(page) == []


def test_a_name_that_is_gone_is_missed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Code: `discreet.noise`, `discreet.noise.no`, `inverse_cdf_sampler`, `never`, `Pure.fills`, `Pure.no`. `more`\n"
    )
    assert missing(page) == ["discreet.noise.no", "never", "Pure.no"]
