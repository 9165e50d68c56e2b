"""Every public name says what it is."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

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
