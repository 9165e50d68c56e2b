"""Folders that version 0.1.0 wrote still open, verify and answer; what they state too boldly is not stated again."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from release.published import counted
from release.test_folder import recertified, swapped

from discreet.errors import Refusal
from discreet.release import Histogram
from discreet.release.folder import checked, read
from discreet.release.release import EARLIER

STORED = Path(__file__).parent / "folders_0_1"
NAMES = sorted(path.name for path in STORED.iterdir())
each = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(name="folder")
def _folder(name: str, tmp_path: Path) -> Path:
    folder = tmp_path / name
    folder.mkdir()
    for path in (STORED / name).iterdir():
        content = path.read_bytes()
        if path.suffix == ".base64":
            (folder / path.stem).write_bytes(base64.decodebytes(content))
        else:
            (folder / path.name).write_bytes(content)
    return folder


def test_there_is_one_of_every_kind() -> None:
    assert NAMES == ["adaptive", "histogram", "marginals", "mwem", "private", "ranges"]


@each
def test_it_opens_and_verifies_and_what_was_not_checked_is_named(folder: Path) -> None:
    release, certificate = read(folder)
    assert release.earlier
    assert certificate.earlier
    assert release.to_json() == (folder / "release.json").read_text(encoding="utf-8")
    assert f'"format": "{EARLIER}"' in release.to_json()
    assert certificate.to_json() == (folder / "certificate.json").read_text(encoding="utf-8")
    findings = " ".join(checked(folder))
    assert "index.html was NOT checked" in findings
    assert "standard errors were NOT checked where cells were counted together" in findings
    assert "whole counts were NOT" not in findings


@each
def test_it_is_read_and_shown_as_new_ones_are(folder: Path) -> None:
    release = counted(read(folder)[0])
    content = release.content
    if isinstance(content, Histogram) and content.known is not None:
        alone = np.bincount(content.part)[content.part] == 1
        stated = release.table()["standard_error"].is_valid().to_pylist()
        assert stated == alone.tolist()
    assert str(release)
    assert np.isfinite(release.total.value)


@pytest.mark.parametrize("name", ["ranges"])
def test_counts_that_were_made_plausible_without_saying_how_far_have_no_error(folder: Path) -> None:
    release = counted(read(folder)[0])
    assert release.total.error is None
    assert release.table()["standard_error"].null_count == len(release.axes[0])


@pytest.mark.parametrize("name", ["histogram", "adaptive"])
def test_a_changed_count_or_error_is_still_found(folder: Path) -> None:
    table = pq.read_table(folder / "cells.parquet")
    release = counted(read(folder)[0])
    place = release.table()["standard_error"].is_valid().to_pylist().index(True)
    for name in ("count", "standard_error", "count_whole"):
        values = table[name].to_pylist()
        values[place] += 1
        other = table.set_column(table.column_names.index(name), name, pa.array(values, table[name].type))
        written = pa.BufferOutputStream()
        pq.write_table(other, written)
        swapped(folder, "cells.parquet", written.getvalue().to_pybytes())
        with pytest.raises(Refusal, match="does not follow"):
            checked(folder)


@pytest.mark.parametrize("name", ["histogram"])
def test_a_new_release_cannot_pass_for_an_earlier_one(folder: Path) -> None:
    recertified(folder, lambda body: body.update(format="discreet-certificate-3"))
    with pytest.raises(Refusal, match="contradicts itself in format"):
        checked(folder)
    recertified(folder, lambda body: body.update(format="discreet-certificate-2", outside="leave out"))
    with pytest.raises(Refusal):
        checked(folder)
