"""What the console reads of streams: only what changed since somebody looked."""

from __future__ import annotations

from pathlib import Path

import clinic
import pytest
from curator.test_streams import rows, streams

from discreet.console.streams import seen
from discreet.curator.streams import StreamOrder
from discreet.desk import HOME, Desk
from discreet.mechanisms.encrypted_file import Sealed


def test_states_are_opened_once_for_all_pages_until_a_step_is_pushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = clinic.home(tmp_path / "home", epsilon=10**9)
    for name in ("first", "second"):
        streams(home).open(name, StreamOrder("patient", 9, 1, epsilon=10**6)).push(rows(1))
    opened: list[str] = []
    read = Sealed.read

    def noticed(sealed: Sealed) -> bytes:
        opened.append(sealed.path.name)
        return read(sealed)

    monkeypatch.setattr(Sealed, "read", noticed)
    before = seen(Desk(home), HOME)
    assert len(set(opened)) == 2
    opened.clear()
    again = seen(Desk(home), HOME)
    assert opened == []
    assert [one is other for one, other in zip(before, again, strict=True)] == [True, True]
    streams(home).one("second").push(rows(2))
    opened.clear()
    after = seen(Desk(home), HOME)
    assert len(set(opened)) == 1
    assert [(each.status.name, int(each.counts[-1].count)) for each in after] == [("second", 2), ("first", 1)]
    streams(home).one("first").close()
    assert seen(Desk(home), HOME)[1].status.session.closed == "closed by custodian"
