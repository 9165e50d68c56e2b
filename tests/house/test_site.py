"""The documentation builds, shows its formulas, and lets no reader call a third party."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from house.tree import ROOT, pages

pytestmark = pytest.mark.slow  # it is built first


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 5
    loads = re.compile(r'<(?:script|img|iframe|link|source)\b[^>]*\b(?:src|href)="(?:https?:)?//[^"]*"')
    assert [(page.name, found) for page in pages for found in loads.findall(page.read_text(encoding="utf-8"))] == []
    styles = [style for style in site.rglob("*.css") if "url(http" in style.read_text(encoding="utf-8")]
    assert styles == []


def test_formulas_are_shown_without_a_script(site: Path) -> None:
    proof = (site / "proofs" / "sampling.html").read_text(encoding="utf-8")
    assert "<math" in proof
    assert "arithmatex" not in proof


def test_every_page_is_in_the_contents(site: Path) -> None:
    start = (site / "index.html").read_text(encoding="utf-8")
    linked = set(re.findall(r'<a href="([\w/.-]+\.html)" class="md-nav__link', start))
    written = {
        page.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for page in pages() if page.parent != ROOT
    }
    assert linked - {"index.html"} == written - {"index.html"}  # which links to itself


def test_every_proof_is_listed(site: Path) -> None:
    listed = re.findall(r'<li><a href="([\w-]+)\.html">', (site / "proofs" / "index.html").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(
        page.stem for page in (ROOT / "docs" / "proofs").glob("*.md") if page.stem != "index"
    )
    assert "sampling" in listed
