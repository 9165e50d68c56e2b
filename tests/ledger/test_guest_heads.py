"""Heads that others bring to a home: so many of one analyst, so many of all, and room of their own for custodians."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from ledger.kept import held

from discreet.errors import Busy, Ground, Refusal
from discreet.ledger import file_access, witness
from discreet.ledger.signed_head import Head, sign
from discreet.ledger.witness import EACH, Bringer, Outside, keep, kept

ANN, BOB, CLEO = Bringer("ann"), Bringer("bob"), Bringer("cleo", custodian=True)


def head(key: Ed25519PrivateKey | None = None) -> Head:
    """The first head of a ledger."""
    return sign([], "now", key or Ed25519PrivateKey.generate())


def bring(home: Path, by: Bringer, times: int = 1) -> None:
    for _ in range(times):
        new = head()
        assert keep(home, new, 0, (), by) == new


def test_one_person_brings_so_many_ledgers_and_leaves_room_for_others(tmp_path: Path) -> None:
    first = head()
    keep(tmp_path, first, 0, (), ANN)
    bring(tmp_path, ANN, EACH - 1)
    before = sorted((tmp_path / "witness").iterdir())
    with pytest.raises(Refusal, match="you have brought heads of 20 ledgers here, and one person brings no more") as no:
        bring(tmp_path, ANN)
    assert no.value.ground is Ground.LIMIT
    assert sorted((tmp_path / "witness").iterdir()) == before
    assert keep(tmp_path, first, 0, (), ANN) == first  # which she brought before
    bring(tmp_path, BOB)
    bring(tmp_path, CLEO, EACH + 1)


def test_analysts_together_leave_room_for_custodians(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witness, "MOST", 3)
    for name in ("a", "b", "c"):
        bring(tmp_path, Bringer(name))
    with pytest.raises(Refusal, match="this witness keeps the heads of 3 ledgers, and no more; ask a custodian"):
        bring(tmp_path, Bringer("d"))
    bring(tmp_path, CLEO, 3)
    with pytest.raises(Refusal, match="3 ledgers, and no more; remove files"):
        bring(tmp_path, CLEO)


def test_a_name_is_no_role(tmp_path: Path) -> None:
    """Somebody who was a custodian, and is none now, counts anew; their old ones stay where they are."""
    bring(tmp_path, Bringer("cleo", custodian=True), EACH)
    bring(tmp_path, Bringer("cleo"), EACH)
    with pytest.raises(Refusal, match="no more"):
        bring(tmp_path, Bringer("cleo"))


def test_who_goes_on_with_a_ledger_is_not_counted_for_it(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    first, later = head(key), sign([], "later", key)
    keep(tmp_path, first, 0, (), BOB)
    bring(tmp_path, ANN, EACH)
    assert keep(tmp_path, later, 0, (), ANN) == later
    body = json.loads((tmp_path / "witness" / f"{later.key}.json").read_text())
    assert body == {"head": later.__dict__, "by": {"name": "bob", "custodian": False}}


def test_a_head_from_before_it_was_written_down_who_brings_them_is_nobodys(tmp_path: Path) -> None:
    known = head()
    (tmp_path / "witness").mkdir()
    (tmp_path / "witness" / f"{known.key}.json").write_text(json.dumps({"head": known.__dict__}))
    assert kept(tmp_path, known.key) == known
    bring(tmp_path, ANN, EACH)
    assert kept(tmp_path, known.key) == known


def test_many_at_once_are_not_more(tmp_path: Path) -> None:
    refused = list[Refusal]()

    def hurried() -> None:
        try:
            bring(tmp_path, ANN)
        except Refusal as no:
            refused.append(no)

    bring(tmp_path, ANN, EACH - 2)
    threads = [threading.Thread(target=hurried) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 6
    assert len(list((tmp_path / "witness").glob("*.json"))) == EACH


def test_what_is_wrong_with_the_folder_is_not_told_to_who_brings_a_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(tmp_path, ANN)
    monkeypatch.setattr(file_access, "PATIENCE", 0.1)
    with held(tmp_path / "witness" / "new.lock"), pytest.raises(Busy):
        bring(tmp_path, BOB)
    (file,) = (tmp_path / "witness").glob("*.json")
    file.write_bytes(b"\xff")
    with pytest.raises(Outside) as no:
        kept(tmp_path, file.stem)
    assert str(tmp_path) not in str(no.value)
    file.unlink()
    file.mkdir()
    with pytest.raises(Outside) as no:
        keep(tmp_path, head(), 0, (), Bringer("eve")) and kept(tmp_path, file.stem)
    assert str(tmp_path) not in str(no.value)
