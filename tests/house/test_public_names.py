"""Every public name says what it is."""

from __future__ import annotations

import inspect
import pkgutil
import re
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import clinic
import pyarrow.parquet as pq
import pytest

import discreet

ROOMS = [found.name for found in pkgutil.iter_modules(discreet.__path__, "discreet.") if found.ispkg]


@pytest.mark.parametrize("room", ["discreet", *ROOMS])
def test_a_room_and_everything_it_exports_is_documented(room: str) -> None:
    module = import_module(room)
    assert module.__doc__
    public = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    exported = {
        name: value
        for name, value in public.items()
        if (inspect.isclass(value) or inspect.isroutine(value)) and value.__module__.startswith("discreet")
    }
    assert [name for name, value in exported.items() if not documented(value)] == []


def documented(value: object) -> bool:
    """A docstring of its own, and not the one that `dataclass` writes."""
    text = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    return bool(text) and not str(text).startswith(f"{getattr(value, '__name__', '')}(")


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_opens_when_it_is_named(room: str) -> None:
    assert getattr(discreet, room.removeprefix("discreet.")) is import_module(room)


def test_there_is_no_room_that_there_is_not() -> None:
    with pytest.raises(AttributeError, match="module 'discreet' has no attribute 'attic'"):
        getattr(discreet, "attic")  # noqa: B009  # the type checker knows better


def test_what_can_be_named_is_listed_and_nothing_else() -> None:
    rooms = {room.removeprefix("discreet.") for room in ROOMS}
    own = {name: value for name, value in vars(discreet).items() if getattr(value, "__module__", "") == "discreet"}
    functions = {name for name, value in own.items() if inspect.isfunction(value) and name[0] != "_"}
    errors = {name for name, value in vars(discreet).items() if inspect.isclass(value) and issubclass(value, Exception)}
    assert set(dir(discreet)) == rooms | functions | errors | {"__version__"}
    assert functions == {"create", "open", "connect"}


def test_the_tour_in_the_help_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(clinic.visits(), "visits.parquet")
    steps = [line.strip() for line in str(discreet.__doc__).splitlines() if line.startswith("    ")]
    said: dict[str, object] = {"discreet": discreet}
    for step in steps:
        exec(step, said)  # noqa: S102  # our own words
    assert len(steps) == 9
    assert (tmp_path / "folder" / "certificate.json").exists()
    told = capsys.readouterr().out
    assert told.startswith("price    epsilon 0.5")
    for name in re.findall(r"discreet\.[a-z_.]+", str(discreet.__doc__)):
        assert attrgetter(name.removeprefix("discreet.").rstrip("."))(discreet), name
