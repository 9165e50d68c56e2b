"""What was said to be kept is there after the power went, and what was said to be gone is gone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path

import clinic
import duckdb
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from disk import Disk, careless, holding
from ledger.kept import held
from release.published import paid, released
from survey.surveyed import ONE, Survey, trusting

from discreet.curator import Curator, catalogue
from discreet.curator.custody import Custody, found_home
from discreet.desk import HOME, Desk, ReleaseOrder
from discreet.engines import DuckStore
from discreet.errors import Refusal
from discreet.ledger import Opened, Spend, SqliteLedger, StoredAnswer, open_ledger, sign, signing_key
from discreet.ledger.entry_kinds import Entry, Event
from discreet.ledger.home_ledger import add_witness
from discreet.ledger.signed_head import Head
from discreet.ledger.witness import Bringer, Folder
from discreet.ledger.witness import keep as keep_guest
from discreet.local import LocalHashing, Rappor
from discreet.local.rappor import Device
from discreet.mechanisms import SparseVector
from discreet.mechanisms.encrypted_file import Sealed
from discreet.privacy import AddRemove, Pure
from discreet.release import Wish
from discreet.release.folder import write
from discreet.transport.signed_task import UploadReceipt
from discreet.transport.signing_keys import Handover

KEY = Ed25519PrivateKey.generate()
COSTS = ReleaseOrder.of("visits", Wish.of("histogram", ("cost",), epsilon="0.5", bins={"cost": 10}, max_rows=3))


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "user" / "state"))


def _head(size: int) -> Head:
    return sign(["ab" * 32] * size, "2026-01-02T03:04:05Z", KEY)


def _named(folder: Path, *patterns: str) -> list[Path]:
    paths = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    assert len(paths) >= len(patterns)
    return paths


# Each writes its files, some of them twice so that the second takes the place of the first, and says which they are.


def _signing_key(folder: Path) -> Iterable[Path]:
    signing_key(folder / "ledger.key")
    yield folder / "ledger.key"


def _home(folder: Path) -> Iterable[Path]:
    found_home(folder / "new" / "home")
    Custody(folder / "new" / "home").add("visits", clinic.visits(5), clinic.declared())
    yield from _named(folder / "new" / "home", "discreet.toml", "ledger.key", "tables/*.duckdb")


def _heads(folder: Path) -> Iterable[Path]:
    """Those that the user's state folder keeps: a new one with every payment."""
    found_home(folder / "home")
    ledger = open_ledger(folder / "home")
    ledger.append(Opened("patients", Pure(1), AddRemove("patients")))
    ledger.append(Spend("patients", Pure("0.1"), "custodian", "q", [], None))
    assert (
        json.loads(*[path.read_text() for path in _named(folder / "user", "state/heads/*.json")])["head"]["size"] == 2
    )
    yield from _named(folder / "user", "state/heads/*.json", "state/heads/*.origin")


def _witness_folder(folder: Path) -> Iterable[Path]:
    Folder(folder / "share").keep(_head(1), None, [])
    yield from _named(folder / "share", "*.json")


def _names_of_witnesses(folder: Path) -> Iterable[Path]:
    found_home(folder / "home")
    add_witness(folder / "home", str(folder / "share"))
    yield folder / "home" / "witness.json"


def _heads_of_others(folder: Path) -> Iterable[Path]:
    keep_guest(folder / "home", _head(1), 0, [], Bringer("ann"))
    yield from _named(folder / "home", "witness/*.json")


def _catalogue(folder: Path) -> Iterable[Path]:
    for text in ("version = 1\n", "version = 1\n# and more\n"):
        catalogue.write(folder, text)
    yield folder / catalogue.FILE


def _release_folder(folder: Path) -> Iterable[Path]:
    release = released({"kind": "histogram", "columns": ["region"]})
    write(folder / "out", release, paid(folder / "home", release))
    yield from _named(folder / "out", "*")


def _table(folder: Path) -> Iterable[Path]:
    store, table = DuckStore(folder / "home"), clinic.schema().tables["visits"]
    for patients in (3, 5):
        store.ingest(table, clinic.visits(patients))
    yield store.path(table)


def _sealed(folder: Path) -> Iterable[Path]:
    sealed = Sealed(folder / "state", folder / "key", b"for this")
    sealed.create_key()
    for secret in (b"first", b"second"):
        sealed.write(secret)
    yield from (sealed.path, sealed.key_file)


def _session(folder: Path) -> Iterable[Path]:
    opened = Curator(clinic.home(folder / "place")).paid_sessions().open(SparseVector.of(1, 9), "visits")
    opened.ask("SELECT count(DISTINCT patient) FROM visits")
    yield from _named(folder / "place" / "sessions", str(opened.entry), "key")


def _device(folder: Path) -> Iterable[Path]:
    Device.at(folder / "secret", Rappor(Fraction(1), 2, 1, 1, Fraction(0), Fraction(1)))
    yield folder / "secret"


def _survey_key(folder: Path) -> Iterable[Path]:
    Survey(folder)
    yield folder / "surveys.key"


WRITERS = [
    _signing_key, _home, _heads, _witness_folder, _names_of_witnesses, _heads_of_others, _catalogue, _release_folder,
    _table, _sealed, _session, _device, _survey_key,
]  # fmt: skip


@pytest.mark.parametrize("written", WRITERS, ids=lambda written: written.__name__.strip("_"))
def test_what_was_kept_is_there_after_the_power_went(
    written: Callable[[Path], Iterable[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bytes were flushed before they got their name, and the name before anybody was told."""
    for name in ("home", "share"):
        (tmp_path / name).mkdir()
    disk = Disk(tmp_path, monkeypatch)
    for path in list(written(tmp_path)):
        assert disk.left(path) == path.read_bytes(), path.name
        assert path.stat().st_size
    assert disk.early == []


def test_a_release_is_on_the_disk_before_the_ledger_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, append = clinic.home(tmp_path / "home", epsilon=3), SqliteLedger.append
    told: list[bool] = []
    disk = Disk(tmp_path, monkeypatch)

    def watched(ledger: SqliteLedger, event: Event) -> Entry:
        if isinstance(event, StoredAnswer):
            told.extend(disk.left(path) == path.read_bytes() for path in _named(home / "releases", "*.json"))
        return append(ledger, event)

    monkeypatch.setattr(SqliteLedger, "append", watched)
    Desk(home).published(HOME, COSTS)
    assert told == [True]
    assert disk.early == []


def test_a_hold_that_is_owed_outlives_the_power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.db")
    ledger.append(Opened("patients", Pure(1), AddRemove("patients")))
    disk = Disk(tmp_path, monkeypatch)
    with held(tmp_path / "ledger.db.lock"), monkeypatch.context() as hasty:
        hasty.setattr("discreet.ledger.file_access.PATIENCE", 0.01)
        ledger.hold("patients")  # which cannot be written now
    (mark,) = _named(tmp_path, "ledger.db.hold.*")
    assert disk.names(tmp_path) >= {mark.name}
    with pytest.raises(Refusal, match="maintenance"):
        SqliteLedger(tmp_path / "ledger.db").append(Spend("patients", Pure("0.1"), "custodian", "q", [], None))


class Hand:
    """Carries what a device sends to the collector beside it."""

    address = "here"

    def __init__(self, survey: Survey) -> None:
        self._collector = survey.collector

    def task(self, name: str, /) -> bytes:
        return self._collector.task(name).document

    def handovers(self) -> list[Handover]:
        return self._collector.handovers()

    def send(self, name: str, body: bytes, token: str | None, /) -> UploadReceipt:
        return self._collector.receive(name, body, token)


# SQLite flushes by itself, as it was told to -------------------------------------------------------------------------

DURABLE = {"journal_mode": "delete", "synchronous": 3, "fullfsync": 1}  # 3: and the folder, when the journal is gone
SECRET = DURABLE | {"secure_delete": 1}
FILES = {"ledger.db": DURABLE, "surveys.db": SECRET, "device": SECRET}


def test_what_sqlite_commits_stays_and_what_it_deletes_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it was built: everything that is safe is asked for each time that a file is opened."""
    treated = careless(monkeypatch)
    found_home(tmp_path / "home")
    SqliteLedger(tmp_path / "home" / "ledger.db").append(Opened("patients", Pure(1), AddRemove("patients")))
    survey = Survey(tmp_path / "home", LocalHashing(ONE, 5), minimum=2, reports=1, invited=True)
    device = trusting(tmp_path / "device")
    tokens = survey.collector.invite(survey.task.id, 2)
    carried = [device.take_part(Hand(survey), survey.task.id, 1, token=tokens[0]), survey.send([1], tokens[1])]
    assert carried == [UploadReceipt(accepted=1)] * 2
    survey.collector.close(survey.task.id)
    survey.collector.collect(survey.task.id)
    hashed = [hashlib.sha256(token.encode()).digest() for token in tokens]
    assert [holding(tmp_path, each) for each in hashed] == [["surveys.db"]] * 2
    survey.collector.forget(survey.task.id)
    assert [holding(tmp_path, each) for each in (*hashed, tokens[0].encode())] == [[]] * 3
    assert set(treated) == set(FILES)
    for name, asked in FILES.items():
        assert all(asked.items() <= dict(how).items() for how in treated[name]), name


def test_no_token_stands_in_a_file(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", epsilon=3)
    tokens = [Custody(home).let_in(name, "analyst") for name in ("ann", "bob")]
    Custody(home).shut_out("ann")
    assert [holding(tmp_path, token.encode()) for token in tokens] == [[], []]
    assert Desk(home).bearer(tokens[0]) is None
    assert Desk(home).bearer(tokens[1]) is not None


def test_each_version_of_a_table_has_a_secret_of_its_own(tmp_path: Path) -> None:
    """By which rows are chosen where there are too many: whoever knew it could tell which."""
    store, table = DuckStore(tmp_path / "tables"), clinic.schema().tables["visits"]
    secrets = set()
    for _ in range(3):
        store.ingest(table, clinic.visits(3))
        with duckdb.connect(str(store.path(table)), read_only=True) as file:
            secrets.add(file.execute("SELECT salt FROM salt").fetchone())
    assert len(secrets) == 3  # of 64 bits: two are alike once in 10^19
