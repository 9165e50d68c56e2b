"""A release that comes over a connection is checked before it has a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from release.published import published, released

from discreet.client.remote_database import Connection
from discreet.errors import Refusal
from discreet.release.folder import checked, read


class Downloads(Connection):
    """A server that hands out the files of a folder, whatever is in them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _file(self, entry: int, name: str) -> bytes:
        assert entry == 7
        return (self._folder / name).read_bytes()


def test_a_download_is_the_folder_and_one_that_does_not_hold_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "ages"
    published(folder, released({"kind": "histogram", "columns": ["age"], "bins": {"age": 10}}))
    db = Downloads(folder)
    assert db.certified(7, tmp_path / "whole") == read(folder)[1]
    assert checked(tmp_path / "whole")
    (folder / "release.json").write_text((folder / "release.json").read_text(encoding="utf-8") + " ", encoding="utf-8")
    with pytest.raises(Refusal, match="the release does not hold"):
        db.certified(7, tmp_path / "changed")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ages", "ages-home", "whole"]
