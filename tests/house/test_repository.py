"""What the repository must and must not contain."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution

import pytest
from house.tree import ROOT, files

import discreet

FORBIDDEN = {
    "a package index": re.compile(r"py" r"pi\.|python" r"hosted|--(extra-)?index-url|/simp" r"le\b", re.IGNORECASE),
    "a path of somebody's machine": re.compile(r"(?<![\w.])/(work|root|home|Users)" r"/"),
    "an open end": re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b"),
}
WRITTEN = [path for path in files() if path.suffix not in {".png", ".ico", ".xz"}]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_contains(what: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line}"
        for path in WRITTEN
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if FORBIDDEN[what].search(line)
    ]
    assert found == []


def test_the_files_that_matter_are_among_those_looked_at() -> None:
    seen = {path.relative_to(ROOT).as_posix() for path in WRITTEN}
    assert {".ci/run", "Makefile", "README.md", "constraints.txt", "src/discreet/__init__.py"} <= seen
    assert not any(path.startswith((".git/", ".venv/")) for path in seen)


def test_constraints_are_names_and_versions_and_nothing_else() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][0-9A-Za-z.+!]*", line)] == []
    assert lines == sorted(lines, key=str.lower)


def test_constraints_pin_every_dependency() -> None:
    pinned = {normal(line.split("==")[0]) for line in (ROOT / "constraints.txt").read_text().splitlines()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    assert {name(requirement) for requirement in wanted} <= pinned
    for requirement in project["dependencies"]:  # one step further: what they need in turn
        needs = distribution(name(requirement)).requires or []
        assert {name(need) for need in needs if ";" not in need} <= pinned, requirement


def name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return normal(found[0])


def normal(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()


def test_the_changelog_knows_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(discreet.__version__)}\b", changelog, re.MULTILINE)


def test_the_licence_is_the_one_that_is_declared() -> None:
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License\n                           Version 2.0, January 2004" in licence
    assert "END OF TERMS AND CONDITIONS" in licence


def test_no_module_is_longer_than_a_reader_bears() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in WRITTEN if path.suffix == ".py"}
    assert [path for path, length in lengths.items() if length > 400] == []
