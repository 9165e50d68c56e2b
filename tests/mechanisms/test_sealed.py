"""A secret at rest: it opens for one key and one purpose, is replaced as a whole, and shows nothing."""

from __future__ import annotations

import os
import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.errors import Fault, Refusal
from discreet.mechanisms.encrypted_file import CLOSED, Sealed

SECRET = b"a noisy threshold of 12345"


@pytest.fixture
def sealed(tmp_path: Path) -> Sealed:
    made = Sealed(tmp_path / "state", tmp_path / "key", b"for this")
    made.create_key()
    made.write(SECRET)
    return made


def test_what_is_written_is_read(sealed: Sealed) -> None:
    assert sealed.read() == SECRET
    sealed.write(b"another")
    assert sealed.read() == b"another"
    assert not Path(f"{sealed.path}.new").exists()


def test_only_the_owner_may_read(sealed: Sealed) -> None:
    for path in (sealed.path, sealed.key_file):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_left_behind_by_a_crash_is_not_reused_with_its_rights(sealed: Sealed) -> None:
    aside = Path(f"{sealed.path}.new")
    aside.write_bytes(b"x" * 10_000)
    aside.chmod(0o644)
    sealed.write(SECRET)
    assert stat.S_IMODE(sealed.path.stat().st_mode) == 0o600
    assert sealed.read() == SECRET


def test_the_key_is_made_once(sealed: Sealed) -> None:
    key = sealed.key_file.read_bytes()
    assert len(key) == 32
    sealed.create_key()
    assert sealed.key_file.read_bytes() == key


def test_no_two_writings_look_alike(sealed: Sealed) -> None:
    first, head = sealed.path.read_bytes(), sealed.head
    sealed.write(SECRET)
    second = sealed.path.read_bytes()
    assert len(first) == len(second)
    start = len(b"discreet sealed 1\n")
    assert sum(a == b for a, b in zip(first[start:], second[start:], strict=True)) < 12  # as two random strings
    assert sealed.head != head


@pytest.mark.parametrize("place", [0, 5, 17, 18, 25, 29, 30, 40, -1, -16])
def test_any_changed_byte_is_noticed_with_one_sentence(sealed: Sealed, place: int) -> None:
    content = bytearray(sealed.path.read_bytes())
    content[place] ^= 1
    sealed.path.write_bytes(content)
    with pytest.raises(Refusal) as refused:
        sealed.read()
    assert str(refused.value) == CLOSED
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("size", [0, 1, 17, 18, 29, 30, 45, 50])
def test_a_shortened_file_is_noticed_with_the_same_sentence(sealed: Sealed, size: int) -> None:
    sealed.path.write_bytes(sealed.path.read_bytes()[:size])
    with pytest.raises(Refusal) as refused:
        sealed.read()
    assert str(refused.value) == CLOSED


def test_another_purpose_does_not_open_it(sealed: Sealed) -> None:
    with pytest.raises(Refusal) as refused:
        Sealed(sealed.path, sealed.key_file, b"for that").read()
    assert str(refused.value) == CLOSED


def test_another_key_does_not_open_it(sealed: Sealed, tmp_path: Path) -> None:
    other = Sealed(sealed.path, tmp_path / "other", sealed.binding)
    other.create_key()
    with pytest.raises(Refusal) as refused:
        other.read()
    assert str(refused.value) == CLOSED


def test_a_key_that_others_can_read_is_refused(sealed: Sealed) -> None:
    sealed.key_file.chmod(0o640)
    with pytest.raises(Refusal, match="can be read by others"):
        sealed.read()


@pytest.mark.parametrize("content", [b"", b"x" * 31, b"x" * 64])
def test_what_is_no_key_is_refused(sealed: Sealed, content: bytes) -> None:
    sealed.key_file.write_bytes(content)
    with pytest.raises(Refusal, match=f"expected a key file of 32 bytes, got {len(content)}"):
        sealed.read()


def test_what_is_missing_is_refused_by_name(sealed: Sealed) -> None:
    sealed.path.unlink()
    with pytest.raises(Refusal, match="there is no state file"):
        sealed.read()
    sealed.key_file.unlink()
    with pytest.raises(Refusal, match="cannot be read"):
        sealed.read()


def test_a_write_that_fails_leaves_the_old_secret_and_a_constant_sentence(sealed: Sealed) -> None:
    Path(f"{sealed.path}.new").mkdir()  # so that it cannot be opened for writing
    with pytest.raises(Fault) as fault:
        sealed.write(b"new")
    assert str(fault.value) == Fault.SENTENCE
    assert sealed.read() == SECRET


def test_a_symbolic_link_is_the_same_secret_and_the_same_lock(sealed: Sealed, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    alias = tmp_path / "elsewhere" / "alias"
    alias.symlink_to(sealed.path)
    through = replace(sealed, path=alias)
    assert through == sealed
    through.write(b"another")
    assert sealed.read() == b"another"
    assert alias.is_symlink()
    with through.locked():
        pass
    assert [file.name for file in alias.parent.iterdir()] == ["alias"]


def test_a_second_name_is_refused(sealed: Sealed, tmp_path: Path) -> None:
    """Replacing the file under one name would leave the old secret under the other."""
    (tmp_path / "alias").hardlink_to(sealed.path)
    for path in (sealed.path, tmp_path / "alias"):
        with pytest.raises(Refusal, match="a plain file with one name"):
            replace(sealed, path=path).read()
    (tmp_path / "alias").unlink()
    assert sealed.read() == SECRET


def test_a_link_that_comes_later_is_refused(sealed: Sealed, tmp_path: Path) -> None:
    sealed.path.rename(tmp_path / "moved")
    sealed.path.symlink_to(tmp_path / "moved")
    assert sealed.taken
    for look in (sealed.read, lambda: sealed.head):
        with pytest.raises(Refusal, match="a plain file with one name"):
            look()
    (tmp_path / "moved").unlink()
    assert sealed.taken
    sealed.path.unlink()
    os.mkfifo(sealed.path)  # reading it would wait for ever
    with pytest.raises(Refusal, match="a plain file with one name"):
        sealed.read()


def test_a_lock_that_leads_elsewhere_is_refused(sealed: Sealed, tmp_path: Path) -> None:
    Path(f"{sealed.path}.lock").symlink_to(tmp_path / "other")
    with pytest.raises(Refusal, match="cannot be locked"), sealed.locked():
        pass


def test_a_copy_under_another_name_does_not_open(sealed: Sealed, tmp_path: Path) -> None:
    (tmp_path / "copy").write_bytes(sealed.path.read_bytes())
    with pytest.raises(Refusal) as refused:
        replace(sealed, path=tmp_path / "copy").read()
    assert str(refused.value) == CLOSED


def test_links_in_a_circle_are_refused(sealed: Sealed, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(Refusal, match="leads nowhere"):
        replace(sealed, path=tmp_path / "a")


def test_a_relative_path_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path)
    made = Sealed(Path("state"), Path("key"), b"for this")
    made.create_key()
    made.write(SECRET)
    monkeypatch.chdir(tmp_path / "inner")
    with made.locked():
        assert made.read() == SECRET
    assert list((tmp_path / "inner").iterdir()) == []


def test_what_is_read_is_durable_first(sealed: Sealed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer may have died after the rename, before it flushed the folder."""
    flushed: list[int] = []
    flush = os.fsync

    def noted(handle: int) -> None:
        flush(handle)
        flushed.append(os.fstat(handle).st_ino)

    monkeypatch.setattr(os, "fsync", noted)
    assert sealed.read() == SECRET
    assert flushed == [sealed.path.parent.stat().st_ino]


def test_what_cannot_be_made_durable_is_not_handed_out(sealed: Sealed, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: int) -> None:
        raise OSError("Input/output error")

    monkeypatch.setattr(os, "fsync", refused)
    with pytest.raises(Fault) as fault:
        sealed.read()
    assert str(fault.value) == Fault.SENTENCE


def test_a_key_is_never_seen_half_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever anything is flushed, the key file is absent or whole; and what was written aside is gone."""
    made, seen, flush = Sealed(tmp_path / "state", tmp_path / "key", b""), [], os.fsync

    def noted(handle: int) -> None:
        seen.append(made.key_file.stat().st_size if made.key_file.exists() else None)
        flush(handle)

    monkeypatch.setattr(os, "fsync", noted)
    made.create_key()
    assert seen == [None, 32]
    assert [file.name for file in tmp_path.iterdir()] == ["key"]
    assert made.key_file.stat().st_nlink == 1


def test_of_two_that_make_a_key_at_once_the_first_one_s_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, link = Sealed(tmp_path / "state", tmp_path / "key", b""), os.link

    def late(source: Path, target: Path) -> None:
        target.write_bytes(b"k" * 32)
        target.chmod(0o600)
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    made.create_key()
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("key", b"k" * 32)]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    lost = Sealed(tmp_path / "none" / "state", tmp_path / "none" / "key", b"")
    with pytest.raises(Refusal, match="cannot be made"):
        lost.create_key()
    with pytest.raises(Refusal, match="cannot be locked"), lost.locked():
        pass


def test_reading_deciding_and_writing_is_one_step_also_between_threads(sealed: Sealed) -> None:
    sealed.write(b"0")

    def count() -> None:
        for _ in range(25):
            with sealed.locked():
                sealed.write(str(int(sealed.read()) + 1).encode())

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sealed.read() == b"100"


def test_no_file_stays_open(sealed: Sealed) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        with sealed.locked():
            sealed.write(sealed.read())
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_secret_replaced_while_it_is_read_is_read_anew(sealed: Sealed, monkeypatch: pytest.MonkeyPatch) -> None:
    look, left = os.fstat, [b"second", b"third"]

    def beside_a_writer(file: int) -> os.stat_result:
        if left and os.path.samestat(look(file), sealed.path.stat()):
            sealed.write(left.pop(0))  # now the file that was opened has no name
        return look(file)

    monkeypatch.setattr(os, "fstat", beside_a_writer)
    assert sealed.read() == b"third"
    assert left == []
