"""The notebook of the docs runs from top to bottom in a kernel of its own, against a server of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from house.tree import ROOT
from nbclient import NotebookClient
from server.served import served

NOTEBOOK = ROOT / "docs" / "quickstart.ipynb"


def notebook() -> nbformat.NotebookNode:
    """As it is in the docs."""
    return nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call, no-any-return]


def told(cell: dict[str, object]) -> str:
    """What a cell printed or showed, as text."""
    outputs = cell.get("outputs", [])
    assert isinstance(outputs, list)
    return "".join(str(each.get("text") or each.get("data", {}).get("text/plain", "")) for each in outputs)


@pytest.fixture
def commands() -> list[str]:
    """Those that the notebook says to type first, but for the last, which serves."""
    first = notebook().cells[0].source
    *made, serve = re.findall(r"^discreet .*$", first, re.MULTILINE)
    assert serve == "discreet serve --home clinic"
    return made


@pytest.mark.slow
def test_the_notebook_runs_and_says_what_it_said(
    tmp_path: Path, commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = ""
    for command in commands:
        typed = [sys.executable, "-m", *command.split()]
        printed += subprocess.run(typed, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    token = re.findall(r"(?m)^[\w-]{40,}$", printed)[-1]
    read = notebook()
    kept = [told(cell) for cell in read.cells]
    with served(tmp_path / "clinic") as server:
        monkeypatch.setenv("DISCREET_URL", server.url)
        monkeypatch.setenv("DISCREET_TOKEN", token)
        monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
        monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
        NotebookClient(read, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    for cell, before in zip(read.cells, kept, strict=True):
        assert shape(told(cell)) == shape(before), cell.source
    pictures = [each for cell in read.cells for each in cell.get("outputs", []) if "image/png" in each.get("data", {})]
    assert len(pictures) == 1


def shape(text: str) -> str:
    """A text without what noise, time and keys make of it."""
    text = re.sub(r"[0-9a-f]{32,}|\d{4}-\d\d-\d\dT[\d:]+Z", "…", text)
    return re.sub(r"\s+", " ", re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "…", text))


def test_the_notebook_names_the_usual_address_and_no_other() -> None:
    assert set(re.findall(r"127\.0\.0\.1:(\d+)", NOTEBOOK.read_text(encoding="utf-8"))) == {"8410"}
