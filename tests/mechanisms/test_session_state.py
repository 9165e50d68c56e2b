"""The file of a session: it opens for nothing else, notices changes, and reveals nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from mechanisms.sessions import KINDS, T, opened

from discreet.errors import OverBudget, Refusal
from discreet.mechanisms.encrypted_file import CLOSED
from discreet.mechanisms.sparse import RefreshedSparseVector, SparseVector
from discreet.privacy import AddRemove


def test_the_state_opens_for_nothing_else(tmp_path: Path) -> None:
    mechanism = KINDS[0]
    opened(mechanism, tmp_path)
    assert isinstance(mechanism, SparseVector)
    others = [
        (replace(mechanism, threshold=T + 1), "v1"),
        (replace(mechanism, hard=1000), "v1"),
        (replace(mechanism, neighbours=AddRemove("person")), "v1"),
        (mechanism, "v2"),
        (KINDS[1], "v1"),
    ]
    for other, dataset in others:
        with pytest.raises(Refusal) as refused:
            other.resume(tmp_path / "state", tmp_path / "key", dataset=dataset)
        assert str(refused.value) == CLOSED


def test_a_state_that_was_changed_answers_nothing(tmp_path: Path) -> None:
    session = opened(KINDS[0], tmp_path)
    content = bytearray((tmp_path / "state").read_bytes())
    content[100] ^= 4
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(Refusal) as refused:
        session.ask(10**6)
    assert str(refused.value) == CLOSED


@pytest.mark.parametrize("mechanism", KINDS, ids=["plain", "refreshed"])
def test_the_state_file_reveals_nothing(mechanism: SparseVector | RefreshedSparseVector, tmp_path: Path) -> None:
    """Its size is one for all thresholds, answers and numbers, and no part of what it holds can be read in it."""
    sizes = set()
    for seed in range(6):
        session = opened(mechanism, tmp_path, seed, f"state{seed}")
        path = tmp_path / f"state{seed}"
        sizes.add(path.stat().st_size)
        for value in (-(10**30), 10**30, 3, 10**6, 10**6):
            try:
                session.ask(value)
            except OverBudget:
                break
            sizes.add(path.stat().st_size)
            secret, content = session.sealed.read(), path.read_bytes()
            pieces = {secret[i : i + 6] for i in range(len(secret.rstrip()) - 5)}  # by chance: 1e-9 in all
            assert len(pieces) > 50
            assert not any(piece in content for piece in pieces)
    assert len(sizes) == 1


def test_a_session_and_its_state_print_no_secret(tmp_path: Path) -> None:
    session = opened(KINDS[0], tmp_path)
    threshold = json.loads(session.sealed.read())["threshold"]
    shown = repr(session) + str(session) + repr(session._read())
    assert f"threshold={threshold}" not in shown.replace(f"threshold={T}", "")
    assert "rng" not in repr(session)
