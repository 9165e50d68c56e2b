"""What every interactive mechanism must obey: one suite, run over examples of all of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit.examples import EXAMPLES
from doubles import Seeded
from house.test_session_tenant import SURE
from validity.examples import EXAMPLES as TESTS

from discreet.errors import OverBudget, Refusal
from discreet.ledger.entry_kinds import canonical
from discreet.mechanisms import REGISTRY, Openable, Takes
from discreet.mechanisms.encrypted_file import CLOSED
from discreet.mechanisms.session import Session, finished

VALUES = [-(10**30), 3, 10**30, 49, 50, 51, 0, 10**6, 10**6, 10**6]
ALL = {**EXAMPLES, **TESTS}
CASES: list[Any] = [one for name, kind in REGISTRY.items() if kind.takes is Takes.STREAM for one in ALL[name]]
EVERY = pytest.mark.parametrize("mechanism", [*CASES, SURE], ids=repr)


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, "toy-rounds", type(SURE))


def begun(mechanism: Any, folder: Path) -> Session[Any, int, Any]:  # noqa: ANN401
    found: Session[Any, int, Any] = mechanism.open(
        folder / "state", folder / "key", dataset="v1", pay=lambda _: None, rng=Seeded(1)
    )
    return found


def test_there_are_some() -> None:
    assert len({type(case) for case in CASES}) >= 2
    assert all(isinstance(case, Openable) for case in CASES)


@EVERY
def test_its_state_is_written_and_read_back_within_its_room(mechanism: Any) -> None:  # noqa: ANN401
    rng, state = Seeded(3), mechanism.start(Seeded(2))
    for value in VALUES:
        if finished(mechanism, state):
            break
        before = mechanism.answers(state)
        state = mechanism.step(state, value, rng)
        answers = mechanism.answers(state)
        assert (answers[:-1], len(answers)) == (before, len(before) + 1)
        written = mechanism.encode(state)
        assert "last" not in written
        text = json.dumps({**written, "last": "f" * 64})
        assert len(text) <= mechanism.room
        assert mechanism.decode(json.loads(text)) == state
        told = [mechanism.told(answer) for answer in answers]
        assert canonical(told)  # the ledger holds it
        assert tuple(map(mechanism.heard, json.loads(json.dumps(told)))) == answers


@EVERY
def test_what_is_used_up_closes_it(mechanism: Any) -> None:  # noqa: ANN401
    rng, state = Seeded(4), mechanism.start(Seeded(4))
    last = mechanism.used(state)
    assert all(each.used == 0 < each.most for each in last)
    for value in [10**6] * min(2000, max(each.most for each in last)):
        if finished(mechanism, state):
            break
        state = mechanism.step(state, value, rng)
        used = mechanism.used(state)
        assert [(each.name, each.most) for each in used] == [(each.name, each.most) for each in last]
        assert all(now.used >= then.used for now, then in zip(used, last, strict=True))
        last = used
    assert finished(mechanism, state)
    assert any(each.used == each.most for each in last)
    assert mechanism([10**6] * 3000, rng=Seeded(4)) is not None


@EVERY
def test_it_is_resumed_as_it_was_left_and_for_no_other_data(mechanism: Any, tmp_path: Path) -> None:  # noqa: ANN401
    session, sizes = begun(mechanism, tmp_path), set()
    for number, value in enumerate(VALUES[:4], start=1):
        again = mechanism.resume(tmp_path / "state", tmp_path / "key", dataset="v1")
        try:
            answer = replace(again, rng=Seeded(number)).ask(value, number=number, question=str(number))
        except OverBudget:
            assert session.closed
            break
        sizes.add((tmp_path / "state").stat().st_size)
        assert replace(again, rng=Seeded(77)).ask(-value, number=number, question=str(number)) == answer
        assert session.answers[-1] == answer
    assert len(sizes) == 1
    with pytest.raises(Refusal) as refused:
        mechanism.resume(tmp_path / "state", tmp_path / "key", dataset="v2")
    assert str(refused.value) == CLOSED
