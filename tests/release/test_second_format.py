"""Folders in the second format, of every kind, open, verify to the last byte and are written alike again."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from discreet import __version__
from discreet.release import folder as folders
from discreet.release.folder import PAGE, checked, read

STORED = Path(__file__).parent / "folders_second_format"
NAMES = sorted(path.name for path in STORED.iterdir())


@pytest.fixture(name="folder")
def _folder(name: str, tmp_path: Path) -> Path:
    folder = tmp_path / name
    folder.mkdir()
    for path in (STORED / name).iterdir():
        if path.suffix == ".base64":
            (folder / path.stem).write_bytes(base64.decodebytes(path.read_bytes()))
        else:
            (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_there_is_one_of_every_kind() -> None:
    assert NAMES == ["bins", "fourier", "histogram", "left-out", "plane", "private", "ranges", "residual"]


@pytest.mark.parametrize("name", NAMES)
def test_it_verifies_and_nothing_is_left_unchecked(folder: Path) -> None:
    release, certificate = read(folder)
    unchecked = [finding.split()[0] for finding in checked(folder) if "NOT checked" in finding]
    assert unchecked == ([] if certificate.discreet == __version__ else [PAGE])  # pages of other versions may differ
    assert release.to_json() == (folder / "release.json").read_text(encoding="utf-8")
    assert certificate.to_json() == (folder / "certificate.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_same_release_is_written_as_it_was(folder: Path, tmp_path: Path) -> None:
    release, certificate = read(folder)
    folders.write(tmp_path / "again", release, certificate.answer)
    assert {path.name for path in folder.iterdir()} == {path.name for path in (tmp_path / "again").iterdir()}
    same = [folders.RELEASE, *([PAGE] if certificate.discreet == __version__ else [])]
    for written in same:
        assert (folder / written).read_bytes() == (tmp_path / "again" / written).read_bytes()
