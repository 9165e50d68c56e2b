"""Releases of made-up tables, with a ledger that paid for them, for tests of what is published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from doubles import Seeded
from numpy.typing import ArrayLike

from discreet.ledger import Dataset, Opened, Spend, SqliteLedger, StoredAnswer, sign, signing_key
from discreet.ledger.entry_kinds import Plain, read_loss
from discreet.ledger.verify import Receipt, receipt
from discreet.mechanisms import Column, Frame, Outline
from discreet.privacy import AddRemove
from discreet.release import CountedRelease, Publication, Release, Wish
from discreet.release import folder as folders
from discreet.release import publication as any_publication
from discreet.release.certificate import Certificate, kept

UNIT = AddRemove("patient")
AGE = Column("age", bounds=(0, 100), step=1)
COST = Column("cost", bounds=(0, 500), step="0.01")
REGION = Column("region", keys=("north", "south", "east", "west"))
SQL = "SELECT age, cost, region FROM visits"
NASTY = ("</title></svg><script>alert(1)</script>", "\"'><img src=x onerror=alert(2)>", "]]>&lt;\x00\x1b\u202e", "")
NIGHT = "2026-01-02T03:04:05Z"
ASKER = "custodian"  # the one principal of a home that is let in by nobody


def people(columns: tuple[Column, ...] = (AGE, COST, REGION), rows: int = 4000) -> Frame:
    """A table in which everything has a shape."""
    place = np.arange(rows)
    data: dict[str, ArrayLike] = {
        "age": np.clip(45 + 20 * np.sin(place * 0.7) + 12 * np.cos(place * 1.3), 0, 100).round(),
        "cost": np.clip(20 * np.exp(np.sin(place * 0.37) * 1.9), 0, 500).round(2),
    }
    keyed = {column.name: column.keys for column in columns if column.keys is not None}
    for name, keys in keyed.items():
        data[name] = np.array([keys[min(i % 7 % 5, i % 3, len(keys) - 1)] for i in range(rows)], dtype=object)
    return Frame.of(data, *columns, neighbours=UNIT)


def publication(outline: Outline, wish: Wish) -> Publication:
    """The publication of counts that a wish is."""
    made = any_publication(outline, wish)
    assert isinstance(made, Publication)
    return made


def counted(release: Release) -> CountedRelease:
    """A release that is known to be one of counts."""
    assert isinstance(release, CountedRelease)
    return release


def released(wish: Mapping[str, object], frame: Frame | None = None, seed: int = 1) -> CountedRelease:
    """A release of the people, by a wish."""
    shown = people() if frame is None else frame
    return publication(shown, Wish.read({"epsilon": "1", **wish}))(shown, rng=Seeded(seed))


def paid(home: Path, release: Release, name: str = "Ages of patients", held: Plain = None) -> Receipt:
    """What a ledger says that paid for this release, among other things."""
    home.mkdir(exist_ok=True)
    ledger = SqliteLedger(home / "ledger.db", clock=lambda: NIGHT)
    loss = read_loss(release.facts["guarantee"])
    ledger.append(Opened("patients", 9 * loss, UNIT))
    ledger.append(Dataset("visits", "patients", "patient", 3, "declared"))
    what: Plain = {"mechanism": "a mechanism", "sql": SQL, "max_rows": 1}
    spend = Spend("patients", loss, ASKER, "one", ["visits"], what, {"visits": 3})
    number = ledger.append(spend).number
    answer = held or kept(folders.digest(release.to_json()), name, spend)
    said = ledger.append(StoredAnswer(number, "one", answer))
    ledger.append(Spend("patients", loss, ASKER, "another", ["visits"], what, {"visits": 3}))
    rows = ledger.rows()
    head = sign([stored for _, stored, _ in rows], NIGHT, signing_key(home / "ledger.key"))
    return receipt(rows, said.number, head)


def published(folder: Path, release: Release, name: str = "Ages of patients") -> Certificate:
    """The folder of a release, beside the home of its ledger."""
    return folders.write(folder, release, paid(folder.with_name(f"{folder.name}-home"), release, name))
