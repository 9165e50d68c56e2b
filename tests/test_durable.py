"""Durable files: content is on the disk before its name is, and its name before the call returns."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet import durable

WRITERS: dict[str, Callable[[Path, bytes], None]] = {"replace": durable.replace, "keep": durable.keep}


@pytest.mark.parametrize("name", WRITERS)
def test_content_then_name_then_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen by a spy on the system's own calls: what is synced, and what lies at the path when it is."""
    path, seen, flush = tmp_path / "file", [], os.fsync

    def noted(handle: int) -> None:
        found = os.fstat(handle)
        seen.append(("folder" if stat.S_ISDIR(found.st_mode) else found.st_size, path.exists()))
        flush(handle)

    monkeypatch.setattr(os, "fsync", noted)
    WRITERS[name](path, b"content")
    assert seen == [(len(b"content"), False), ("folder", True)]
    assert path.read_bytes() == b"content"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_the_last_writer_replaces_and_the_first_one_keeps(tmp_path: Path) -> None:
    for content in (b"first", b"second"):
        durable.replace(tmp_path / "replaced", content)
        durable.keep(tmp_path / "kept", content)
    assert (tmp_path / "replaced").read_bytes() == b"second"
    assert (tmp_path / "kept").read_bytes() == b"first"
    with pytest.raises(FileExistsError):
        durable.create(tmp_path / "kept", b"third")


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("fails", ["fsync", "replace", "link"])
def test_a_disk_that_fails_leaves_no_half_of_a_file(
    name: str, fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path if fails == "replace" else os, fails, full)
    if (name, fails) in {("replace", "link"), ("keep", "replace")}:
        WRITERS[name](tmp_path / "file", b"content")
    else:
        with pytest.raises(OSError, match="no space left"):
            WRITERS[name](tmp_path / "file", b"content")
        assert not (tmp_path / "file").exists()
        assert list(tmp_path.iterdir()) == []


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"link|exists"):
        durable.create(tmp_path / "link", b"content")
    assert not (tmp_path / "elsewhere").exists()
