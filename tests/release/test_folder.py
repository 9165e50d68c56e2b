"""A folder is there whole or not at all, and whatever was changed in it is found without the home."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from release.published import paid, people, published, released

from discreet.errors import Refusal
from discreet.ledger.entry_kinds import Plain
from discreet.ledger.verify import Pinned
from discreet.mechanisms import Column
from discreet.release import Release
from discreet.release import folder as folders
from discreet.release.certificate import Certificate
from discreet.release.folder import checked, digest, read, refuse_taken, write

WISH: dict[str, object] = {"kind": "histogram", "columns": ["age", "region"], "bins": {"age": 10}}
WISHES: dict[str, dict[str, object]] = {
    "histogram": WISH,
    "ranges": {"kind": "ranges", "columns": ["cost"]},
    "private": {"kind": "histogram", "columns": ["cost"], "bins": {"cost": "private:8"}},
    "marginals": {"kind": "marginals", "columns": ["age", "cost", "region"], "delta": "1e-9"},
    "multiplicative": {"kind": "histogram", "columns": ["age"], "method": "mwem"},
}


@pytest.fixture(name="model", scope="module")
def _model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Release]:
    folder, release = tmp_path_factory.mktemp("releases") / "ages", released(WISH)
    published(folder, release)
    return folder, release


@pytest.fixture(name="folder")
def _folder(model: tuple[Path, Release], tmp_path: Path) -> Path:
    return Path(shutil.copytree(model[0], tmp_path / "ages"))


@pytest.mark.parametrize("name", WISHES)
def test_what_was_written_is_read_back_and_holds(name: str, tmp_path: Path) -> None:
    release = released(WISHES[name])
    certificate = published(tmp_path / "out", release)
    again, found = read(tmp_path / "out")
    assert again == release
    assert found == certificate
    findings = checked(tmp_path / "out")
    assert len(findings) == 6
    assert certificate.answer.head.key in findings[-1]


@pytest.mark.parametrize("name", WISHES)
def test_the_files_are_the_tables_of_the_release(name: str, tmp_path: Path) -> None:
    release = released(WISHES[name])
    certificate = published(tmp_path / "out", release)
    there = {path.name for path in (tmp_path / "out").iterdir()}
    assert there == {*certificate.files, "certificate.json"}
    tables = [pq.read_table(tmp_path / "out" / file) for file in sorted(there) if file.endswith(".parquet")]
    wanted = release.to_arrow()
    assert len(tables) == len(wanted)
    for table in tables:
        assert any(table.replace_schema_metadata(None).equals(each) for each in wanted.values())
        said = json.loads(table.schema.metadata[b"discreet"])
        assert said["release"] == digest((tmp_path / "out" / "release.json").read_bytes())
    assert (tmp_path / "out" / "release.json").read_text(encoding="utf-8") == release.to_json()


def test_nothing_is_left_beside_the_folder(tmp_path: Path) -> None:
    published(tmp_path / "out", released(WISH))
    assert {path.name for path in tmp_path.iterdir()} == {"out", "out-home"}
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "out" / "index.html").stat().st_mode & 0o400


def test_a_folder_that_is_not_empty_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    release = released(WISH)
    proof = paid(tmp_path / "home", release)
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine.txt").write_text("mine")
    file = tmp_path / "file"
    file.write_text("mine")
    link = tmp_path / "link"
    (tmp_path / "elsewhere").mkdir()
    link.symlink_to(tmp_path / "elsewhere")
    for path in (taken, file, link, tmp_path / "none" / "out"):
        with pytest.raises(Refusal):
            refuse_taken(path)
        with pytest.raises(Refusal):
            write(path, release, proof)
    assert [path.name for path in taken.iterdir()] == ["mine.txt"]
    assert file.read_text() == "mine"
    assert not any(path.name.startswith(".") for path in tmp_path.iterdir())


def test_an_empty_folder_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    published(tmp_path / "out", released(WISH))
    assert checked(tmp_path / "out")


def test_a_disk_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = released(WISH)
    proof = paid(tmp_path / "home", release)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(Refusal, match="could not be written"):
        write(tmp_path / "out", release, proof)
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_a_release_is_on_the_disk_before_it_has_its_name_and_then_its_name_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file with all that is in it, the list of them, and the list of folders: the power may go at any time."""
    release, out = released(WISH), tmp_path / "out"
    proof, synced, real = paid(tmp_path / "home", release), [], os.fsync

    def watched(handle: int) -> None:
        now = os.fstat(handle)
        synced.append((now.st_ino, now.st_size if stat.S_ISREG(now.st_mode) else None, out.exists()))
        real(handle)

    monkeypatch.setattr("os.fsync", watched)
    write(out, release, proof)
    files = {(path.stat().st_ino, path.stat().st_size, False) for path in out.iterdir()}
    assert set(synced[:-2]) == files
    assert synced[-2:] == [(out.stat().st_ino, None, False), (tmp_path.stat().st_ino, None, True)]


def test_a_folder_that_somebody_fills_meanwhile_stays_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = released(WISH)
    proof = paid(tmp_path / "home", release)
    (tmp_path / "out").mkdir()
    looked = refuse_taken

    def meanwhile(folder: Path) -> None:
        looked(folder)
        (folder / "mine.txt").write_text("mine")

    monkeypatch.setattr(folders, "refuse_taken", meanwhile)
    with pytest.raises(Refusal, match="could not be written"):
        write(tmp_path / "out", release, proof)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_a_release_that_the_ledger_does_not_hold_is_not_written(tmp_path: Path) -> None:
    proof = paid(tmp_path / "home", released(WISH))
    with pytest.raises(Refusal, match="holds another release"):
        write(tmp_path / "out", released(WISH, seed=2), proof)
    assert not (tmp_path / "out").exists()


# tampering ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["release.json", "cells.parquet", "index.html", "certificate.json"])
def test_a_changed_letter_of_any_file_is_found(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    for place in (len(content) // 7, len(content) // 2, len(content) - 20):
        before = content[place]
        content[place] = before ^ 1
        (folder / name).write_bytes(bytes(content))
        with pytest.raises(Refusal):
            checked(folder)
        content[place] = before
    (folder / name).write_bytes(bytes(content))
    assert checked(folder)


@pytest.mark.parametrize("name", ["release.json", "cells.parquet", "index.html", "certificate.json"])
def test_a_missing_file_is_found(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(Refusal, match=name):
        checked(folder)


def test_a_file_more_is_found(folder: Path) -> None:
    (folder / "extra.parquet").write_bytes(b"")
    with pytest.raises(Refusal, match=r"'extra.parquet' is not in the certificate"):
        checked(folder)


def test_a_link_in_place_of_a_file_is_found(folder: Path, tmp_path: Path) -> None:
    (folder / "index.html").rename(tmp_path / "index.html")
    (folder / "index.html").symlink_to(tmp_path / "index.html")
    with pytest.raises(Refusal, match=r"no file 'index.html'"):
        checked(folder)


def recertified(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the certificate, and write it as discreet would."""
    body = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    change(body)
    text = json.dumps(body, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
    (folder / "certificate.json").write_text(text, encoding="utf-8")


def swapped(folder: Path, name: str, content: bytes) -> None:
    """Change a file, and its digest in the certificate with it."""
    (folder / name).write_bytes(content)
    recertified(folder, lambda body: body["files"].update({name: digest(content)}))


def test_a_release_with_a_certificate_changed_to_fit_is_found(folder: Path) -> None:
    body = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    body["histogram"]["counts"][0] += 1
    swapped(folder, "release.json", json.dumps(body).encode())
    with pytest.raises(Refusal, match=r"'release.json' is not the one that entry 4 of the ledger holds"):
        checked(folder)


def test_a_table_with_a_certificate_changed_to_fit_is_found(folder: Path) -> None:
    table = pq.read_table(folder / "cells.parquet")
    for name in table.column_names:
        values = table[name].to_pylist()
        values[3] = values[2] if name == "region" else values[3] + 1
        other = table.set_column(table.column_names.index(name), name, pa.array(values, table[name].type))
        assert not other.equals(table), name
        written = pa.BufferOutputStream()
        pq.write_table(other, written)
        swapped(folder, "cells.parquet", written.getvalue().to_pybytes())
        with pytest.raises(Refusal, match=r"'cells.parquet' does not follow from 'release.json'"):
            checked(folder)
    swapped(folder, "cells.parquet", b"PAR1")
    with pytest.raises(Refusal, match=r"'cells.parquet' does not follow"):
        checked(folder)


def test_a_page_with_a_certificate_changed_to_fit_is_found(folder: Path) -> None:
    page = (folder / "index.html").read_bytes()
    swapped(folder, "index.html", page.replace(b"at most 74 times", b"at most 51 times"))
    with pytest.raises(Refusal, match=r"'index.html' does not follow"):
        checked(folder)


def test_a_page_that_says_another_version_is_not_believed_and_that_is_said(folder: Path) -> None:
    def older(body: dict[str, Any]) -> None:
        body["how_to_cite"] = body["how_to_cite"].replace(f"discreet {body['discreet']}", "discreet 0.0.9")
        body["discreet"] = "0.0.9"

    recertified(folder, older)
    (folder / "index.html").write_text("<script>alert('nobody can ever be found')</script>")
    recertified(folder, lambda body: body["files"].update({"index.html": digest((folder / "index.html").read_bytes())}))
    found = checked(folder)
    assert any(said.startswith("index.html was NOT checked") for said in found)
    assert not any("the page and the certificate" in said for said in found)


def test_what_a_parquet_file_says_of_itself_is_compared(folder: Path) -> None:
    table = pq.read_table(folder / "cells.parquet")
    forged = table.replace_schema_metadata({**table.schema.metadata, b"discreet": b'{"promise": "nothing is lost"}'})
    pq.write_table(forged, folder / "cells.parquet")
    known = digest((folder / "cells.parquet").read_bytes())
    recertified(folder, lambda body: body["files"].update({"cells.parquet": known}))
    with pytest.raises(Refusal, match=r"'cells.parquet' does not follow"):
        checked(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.update(kind="ranges"),
        lambda body: body["mechanism"]["parameters"].update(most=2),
        lambda body: body["mechanism"].update(name="hierarchy"),
        lambda body: body["axes"][0]["edges"].__setitem__(1, "11"),
        lambda body: body["axes"][1]["keys"].__setitem__(1, "north pole"),
        lambda body: body.update(source="nobody"),
        lambda body: body.update(tables=[]),
        lambda body: body["left_out"].__setitem__(0, "Nothing at all."),
        lambda body: body["guarantee"].update(epsilon="1/2"),
        lambda body: body["neighbours"].update(unit="row"),
        lambda body: body["caps"].update(max_rows=9),
        lambda body: body.update(title="Other ages"),
        lambda body: body["provenance"].update(sql="SELECT 1"),
        lambda body: body["provenance"]["tables"].update(visits=4),
        lambda body: body["ledger"].update(entries=[1, 2]),
        lambda body: body["files"].pop("cells.parquet"),
        lambda body: body["files"].update({"../secret": "00" * 32}),
    ],
)
def test_a_certificate_that_says_something_else_is_found(folder: Path, change: Callable[[Any], None]) -> None:
    recertified(folder, change)
    with pytest.raises(Refusal):
        checked(folder)


def test_facts_changed_with_all_that_follows_from_them_are_found(folder: Path) -> None:
    """Whoever computes promise and citation anew still cannot change what the digest in the ledger covers."""
    _, certificate = read(folder)
    changes: list[dict[str, Plain]] = [
        {**certificate.facts, "guarantee": {"measure": "pure", "epsilon": "1/100"}},
        {**certificate.facts, "neighbours": {"relation": "add-remove", "unit": "household"}},
        {**certificate.facts, "kind": "ranges"},
    ]
    for other in changes:
        text = replace(certificate, facts=other).to_json()
        assert Certificate.from_json(text).faults() == ()
        (folder / "certificate.json").write_text(text, encoding="utf-8")
        with pytest.raises(Refusal, match="says other things of the release than it says itself"):
            checked(folder)


def test_errors_that_are_said_to_leave_out_less_are_found(folder: Path) -> None:
    text = replace(read(folder)[1], bounding="They cover everything.").to_json()
    (folder / "certificate.json").write_text(text, encoding="utf-8")
    with pytest.raises(Refusal, match="says other things of the release than it says itself"):
        checked(folder)


def test_a_ledger_of_somebody_else_is_found_by_who_kept_a_key(folder: Path, tmp_path: Path) -> None:
    release, certificate = read(folder)
    key = certificate.answer.head.key
    assert checked(folder, Pinned(key))[-1] == "the ledger is that of the key that you kept"
    assert checked(folder, Pinned(key, certificate.answer.head))[-1] == "the ledger is the one you knew"
    published(tmp_path / "forged", release)
    assert checked(tmp_path / "forged")  # it holds, for a ledger with another key
    with pytest.raises(Refusal, match="not by the one that you kept"):
        checked(tmp_path / "forged", Pinned(key))


@pytest.mark.parametrize("name", ["certificate.json", "release.json"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b"[]", b"null"])
def test_a_file_of_nonsense_is_refused(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(Refusal):
        checked(folder)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(Refusal, match=r"there is no file 'certificate.json'"):
            checked(path)


# names ----------------------------------------------------------------------------------------------------------------


def test_columns_of_any_name_get_files_of_plain_names(tmp_path: Path) -> None:
    names = ("../../etc", "..\\x", "A b", "a B", "é", "x" * 300)
    columns = tuple(Column(name, keys=("p", "q")) for name in names)
    tables = [[name] for name in names]
    release = released({"kind": "marginals", "columns": list(names), "tables": tables}, people(columns, 50))
    certificate = published(tmp_path / "out", release)
    files = [name for name in certificate.files if name.endswith(".parquet")]
    assert len(files) == len({name.lower() for name in files}) == len(names)
    assert all(name.removesuffix(".parquet").replace("-", "").replace("_", "").isalnum() for name in files)
    assert all(name.isascii() and len(name) < 80 for name in files)
    assert checked(tmp_path / "out")


def test_columns_called_as_the_counts_are_kept_apart(tmp_path: Path) -> None:
    columns = (Column("count", keys=("p", "q")), Column("count_whole", keys=("r", "s")))
    release = released({"kind": "histogram", "columns": ["count", "count_whole"]}, people(columns, 50))
    published(tmp_path / "out", release)
    assert checked(tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert '<th scope="col">count</th><th scope="col">count_whole</th><th scope="col" class="number">' in page
    assert "<td>p</td><td>r</td>" in page


THREADS = """
import os, sys
from pathlib import Path
from discreet.release.folder import checked
before = len(os.listdir("/proc/self/task"))
checked(Path(sys.argv[1]))
print(before, len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_checking_leaves_no_thread_behind(folder: Path) -> None:
    """Threads of a library that still run when a process ends can end it with an abort, after all was said."""
    done = subprocess.run([sys.executable, "-c", THREADS, str(folder)], capture_output=True, text=True, check=True)
    before, after = done.stdout.split()
    assert before == after
