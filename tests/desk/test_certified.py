"""A release is certified once: the same bytes for everybody, ever after, and not a word of who asked for it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import clinic
import pyarrow.parquet as pq
import pytest

from discreet.curator.custody import Custody
from discreet.desk import HOME, Desk, ReleaseOrder, release_store
from discreet.errors import Refusal
from discreet.ledger import Spend, SqliteLedger, StoredAnswer
from discreet.release import Wish
from discreet.release.folder import checked, write

COSTS = ReleaseOrder.of("visits", Wish.of("histogram", ("cost",), epsilon="0.5", bins={"cost": 10}, max_rows=3))
TABLES = ReleaseOrder.of("visits", Wish.of("marginals", ("region", "urgent"), epsilon="0.5", max_rows=3), "who comes")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=3, delta="1e-6")


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_folder_has_the_same_bytes_whenever_and_by_whomever_it_is_made(home: Path, tmp_path: Path) -> None:
    listed = Desk(home).published(HOME, COSTS)
    Desk(home).certified(HOME, listed.entry, tmp_path / "first")
    Desk(home).published(HOME, TABLES)  # the ledger goes on
    ann = Desk(home).bearer(Custody(home).let_in("ann", "analyst"))
    assert ann is not None
    Desk(home).certified(ann, listed.entry, tmp_path / "second")
    first = files(tmp_path / "first")
    assert files(tmp_path / "second") == first
    assert {name: Desk(home).file(ann, listed.entry, name) for name in first} == first
    shutil.rmtree(home / "releases" / str(listed.entry))  # as in a home from before they were kept
    Desk(home).certified(HOME, listed.entry, tmp_path / "third")
    assert files(tmp_path / "third") == first
    assert "restore" not in str(checked(tmp_path / "third"))


def test_two_who_certify_at_once_get_one_folder(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, other = Desk(home), Desk(home)
    listed = desk.published(HOME, COSTS)
    alone = write

    def meanwhile(folder: Path, *given: Any) -> object:  # noqa: ANN401
        monkeypatch.setattr(release_store, "write", alone)
        other.certified(HOME, listed.entry, tmp_path / "other")
        return alone(folder, *given)

    monkeypatch.setattr(release_store, "write", meanwhile)
    desk.certified(HOME, listed.entry, tmp_path / "one")
    assert files(tmp_path / "one") == files(tmp_path / "other")
    assert sorted(path.name for path in (home / "releases").iterdir()) == sorted(
        [str(listed.entry), f"{listed.digest}.json"]
    )


def test_a_kept_file_that_was_changed_is_not_given_out(home: Path, tmp_path: Path) -> None:
    desk = Desk(home)
    entry = desk.published(HOME, COSTS).entry
    page = desk.file(HOME, entry, "index.html")
    (home / "releases" / str(entry) / "index.html").write_bytes(page + b" ")
    for refused in (
        lambda: desk.file(HOME, entry, "index.html"),
        lambda: desk.certified(HOME, entry, tmp_path / "out"),
    ):
        with pytest.raises(Refusal, match="was changed after it was certified"):
            refused()
    assert desk.file(HOME, entry, "cells.parquet")
    for name in ("nothing.json", "../ledger.key", f"../{entry}/index.html", ""):
        with pytest.raises(Refusal, match="no file of this name"):
            desk.file(HOME, entry, name)


def test_nothing_that_is_published_names_who_asked(home: Path, tmp_path: Path) -> None:
    name = "zoe-quince"
    token = Custody(home).let_in(name, "analyst")
    desk = Desk(home)
    zoe = desk.bearer(token)
    assert zoe is not None
    for number, order in enumerate((COSTS, TABLES)):
        listed = desk.published(zoe, order)
        assert listed.principal == name  # the ledger knows
        desk.certified(zoe, listed.entry, tmp_path / f"out{number}")
        there = files(tmp_path / f"out{number}")
        tables = [pq.read_table(path) for path in (tmp_path / f"out{number}").glob("*.parquet")]
        assert len(there) == 3 + len(tables)
        told = b"".join([*there.values(), *(f"{each.schema} {each.to_pylist()}".encode() for each in tables)])
        for secret in (name, token, "principal"):
            assert secret.encode() not in told
            assert secret.encode().hex().encode() not in told
    entries = SqliteLedger(home / "ledger.db", new=False).entries()
    paid = [each.event.principal for each in entries if isinstance(each.event, Spend)]
    assert paid == [name, name]


def test_a_release_from_before_payments_were_told_is_listed_and_read_but_gets_no_folder(
    home: Path, tmp_path: Path
) -> None:
    desk = Desk(home)
    listed = desk.published(HOME, COSTS)
    ledger = SqliteLedger(home / "ledger.db", new=False)
    paid = next(each.event for each in ledger.entries() if isinstance(each.event, Spend))
    number = ledger.append(replace(paid, question="early")).number
    early = ledger.append(StoredAnswer(number, "early", {"release": {"sha256": listed.digest, "name": "early"}})).number
    assert [each.name for each in desk.releases(HOME)] == ["early", listed.name]
    assert desk.release(HOME, early) == desk.release(HOME, listed.entry)
    with pytest.raises(Refusal, match="does not say what was paid"):
        desk.certified(HOME, early, tmp_path / "out")
    assert not (tmp_path / "out").exists()
