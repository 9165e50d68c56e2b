"""Files of surveys and devices that another program holds, or that a bit flipped in: clear refusals, without a path."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from survey.surveyed import Survey

from discreet.errors import Busy, Refusal
from discreet.ledger import file_access
from discreet.survey.collector import Collector
from discreet.survey.intake import Sent
from discreet.survey.respondent import Respondent


@contextmanager
def held(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """While another program writes a file and does not come to an end."""
    monkeypatch.setattr(file_access, "PATIENCE", 0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("BEGIN EXCLUSIVE")
        yield


def test_surveys_that_another_program_holds_are_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = Survey(tmp_path)
    body = survey.upload([1])
    with held(tmp_path / "surveys.db", monkeypatch):
        for _ in range(3):
            with pytest.raises(Busy, match="the surveys' file is in use by another program; nothing was kept") as told:
                survey.receive(body)
            assert str(tmp_path) not in str(told.value)
    assert survey.receive(body).accepted == 1


def test_a_device_whose_memory_another_program_holds_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    survey, me = Survey(tmp_path), Respondent(tmp_path / "me")
    with held(tmp_path / "me", monkeypatch):
        for call in (lambda: me.answer(survey.task, 1), lambda: Respondent(tmp_path / "me")):
            with pytest.raises(Busy, match="what this device remembers is in use by another program") as told:
                call()
            assert "nothing was sent" in str(told.value)
            assert str(tmp_path) not in str(told.value)
    me.answer(survey.task, 1)


def test_a_place_where_nothing_can_be_written_is_told_without_it(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="what this device remembers cannot be read or written") as told:
        Respondent(tmp_path / "nowhere" / "me")
    assert str(tmp_path) not in str(told.value)
    survey = Survey(tmp_path)
    (tmp_path / "surveys.db").unlink()
    (tmp_path / "surveys.db").mkdir()
    with pytest.raises(Refusal, match="the surveys' file cannot be read or written") as told:
        survey.send([1])
    assert str(tmp_path) not in str(told.value)


def refused(call: Callable[[], object]) -> str | None:
    """What is told instead of an answer."""
    try:
        call()
    except Refusal as told:
        return told.message
    return None


def harmed(path: Path, many: int, used: Callable[[], object]) -> set[str]:
    """What is told when one bit of a file is another, for so many bits; whatever is no refusal is raised."""
    whole, told = path.read_bytes(), set[str]()
    places = [place for place in range(len(whole)) if whole[place]]
    for place in places[:: len(places) // many]:
        broken = bytearray(whole)
        broken[place] ^= 1 << (place % 8)
        path.write_bytes(broken)
        told.add(refused(used) or "")
        path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
        path.write_bytes(whole)
    return told


@pytest.mark.parametrize("many", [120, pytest.param(2000, marks=pytest.mark.slow)])
def test_every_flipped_bit_of_a_collectors_file_is_a_clear_refusal_or_no_harm(tmp_path: Path, many: int) -> None:
    survey = Survey(tmp_path, minimum=3)
    survey.send([1, 2, 3, 0])
    body = survey.upload([1])

    def used() -> None:
        collector = Collector(tmp_path, clock=survey.clock)
        collector.handovers()
        collector.standing(survey.task.id)
        collector.take([Sent(survey.task.id, body)])

    told = harmed(tmp_path / "surveys.db", many, used)
    assert "the surveys' file cannot be read: its file is damaged" in told
    assert not any(str(tmp_path) in each for each in told)


@pytest.mark.parametrize("many", [120, pytest.param(2000, marks=pytest.mark.slow)])
def test_every_flipped_bit_of_a_devices_memory_is_a_clear_refusal_or_no_harm(tmp_path: Path, many: int) -> None:
    survey = Survey(tmp_path)
    Respondent(tmp_path / "me").answer(survey.task, 1)

    def used() -> None:
        me = Respondent(tmp_path / "me")
        me.lost()
        me.gauge(survey.task)
        me.pending()
        me.answer(survey.task, 1)

    told = harmed(tmp_path / "me", many, used)
    assert "what this device remembers cannot be read: its file is damaged" in told
    assert not any(str(tmp_path) in each for each in told)


@pytest.mark.parametrize(("table", "column"), [("price", "epsilon"), ("question", "most"), ("setting", "value")])
def test_a_number_that_is_none_any_more_is_damage(tmp_path: Path, table: str, column: str) -> None:
    survey, me = Survey(tmp_path), Respondent(tmp_path / "me")
    me.set_limit(me.gauge(survey.task).limit)
    me.answer(survey.task, 1)
    with closing(sqlite3.connect(tmp_path / "me")) as file:
        file.execute(f"UPDATE {table} SET {column} = '1/q'")
        file.commit()
    used = [lambda: me.answer(survey.task, 1), lambda: me.gauge(survey.task)]
    told = [refused(each) for each in used]
    assert "what this device remembers cannot be read: its file is damaged" in told
