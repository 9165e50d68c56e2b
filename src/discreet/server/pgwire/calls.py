"""SELECT set_config(…), current_setting(…): SET and SHOW for those who can only select."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.server.errors import BAD_VALUE, WireError
from discreet.server.pgwire.lexer import Word, matching, words
from discreet.server.pgwire.settings import Settings

FUNCTIONS = ("set_config", "current_setting")


@dataclass(frozen=True)
class Call:
    """One of the two functions, its arguments (None: NULL), and what its column is called."""

    function: str
    arguments: tuple[str | None, ...]
    column: str


def calls(text: str) -> list[Call] | None:
    """The calls that a question consists of; None if it asks for anything else."""
    if not any(function in text.lower() for function in FUNCTIONS):
        return None
    listed = words(text)
    if not listed or listed[0].upper != "SELECT" or not any(word.name in FUNCTIONS for word in listed[1:4]):
        return None
    found: list[Call] = []
    at = 1
    while at < len(listed):
        read = _call(listed, at)
        if read is None:
            return None
        call, at = read
        found.append(call)
        if at < len(listed) and listed[at].text != ",":
            return None
        at += 1
    return found


def _call(listed: Sequence[Word], at: int) -> tuple[Call, int] | None:
    if [word.name for word in listed[at : at + 2]] == ["pg_catalog", "."]:
        at += 2
    if at + 1 >= len(listed) or listed[at].name not in FUNCTIONS or listed[at + 1].text != "(":
        return None
    function, closing = listed[at].name, matching(listed, at + 1)
    arguments = [word for word in listed[at + 2 : closing] if word.text != ","]
    if any(word.kind not in ("string", "param") and word.name not in ("true", "false", "null") for word in arguments):
        return None
    values = tuple(None if word.upper == "NULL" else word.name for word in arguments)
    at = closing + 1
    if at < len(listed) and listed[at].upper == "AS":
        at += 1
    if at < len(listed) and listed[at].kind in ("word", "quoted"):
        return Call(function, values, listed[at].name), at + 1
    return Call(function, values, function), at


def called(call: Call, settings: Settings) -> tuple[Settings, str | None]:
    """The settings after a call, and its value."""
    match call.function, call.arguments:
        case "set_config", (str(name), str(value), local):
            changed = settings.put(name, value, local=local in ("true", "t", "on", "1"))
            return changed, changed.value(name)
        case "set_config", (str(name), None, _):
            changed = settings.reset(name)
            return changed, changed.value(name)
        case "current_setting", (str(name),):
            return settings, settings.value(name)
        case "current_setting", (str(name), "true" | "t"):
            return settings, settings.known(name)
        case "current_setting", (str(name), "false" | "f"):
            return settings, settings.value(name)
        case _:
            raise WireError(BAD_VALUE, f"{call.function} takes other arguments")
