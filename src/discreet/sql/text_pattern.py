"""Patterns of text that a question may look for: regular expressions, matched in time that grows with the text alone.

The engine's matcher (RE2) never goes back in a text. What a letter costs is as much as the pattern is long once its
counted repetitions are written out, so there are none, and a pattern is short. Whatever passes here is a pattern to the
engine, so that no question fails by its pattern where rows are.
"""

from __future__ import annotations

from discreet.errors import Ground, Refusal, Unsupported

LONGEST = 100  # characters
_CLASSES = "dDsSwW"  # digits, blanks, letters and digits; capital: all others
_REPEATED = "*+?"
_SIGNS = "\\.^$*+?()[]{}|-/"
_HOW = "a pattern has letters, . [a-z] [^0-9] \\d \\s \\w ( ) | * + ? ^ $, and \\ before a sign that means itself"


def check_pattern(pattern: str | None, where: str) -> None:
    """Refuse what is no constant, too long, or not of the kind above."""
    if pattern is None or len(pattern) > LONGEST:
        raise Refusal(f"{where}: the pattern must be a text in quotes, of at most {LONGEST} characters", hint=_HOW)
    rest = _alternatives(pattern, 0, pattern)
    if rest != len(pattern):
        raise _unread(pattern, rest)


def _alternatives(text: str, at: int, whole: str) -> int:
    """Where an expression ends that begins here: at its end, or at the parenthesis that closes it."""
    can_repeat = False
    while at < len(text) and text[at] != ")":
        letter = text[at]
        if letter in _REPEATED:
            if not can_repeat:
                raise _unread(whole, at)
            at += 2 if text[at + 1 : at + 2] == "?" else 1  # as few as possible, or as many
            can_repeat = False
            continue
        can_repeat = letter not in "|^$"
        if letter == "(":
            start = at + 3 if text.startswith("(?:", at) else at + 1
            at = _alternatives(text, start, whole)
            if text[at : at + 1] != ")":
                raise _unread(whole, at)
            at += 1
        elif letter == "[":
            at = _any_of(text, at + 1, whole)
        elif letter == "\\":
            at = _escaped(text, at + 1, whole)
        elif letter in "{}]\0":
            raise _unread(whole, at)
        else:
            at += 1
    return at


def _escaped(text: str, at: int, whole: str) -> int:
    if text[at : at + 1] and text[at] in _CLASSES + _SIGNS:
        return at + 1
    raise _unread(whole, at)


def _any_of(text: str, at: int, whole: str) -> int:
    """The end of [a-z_]: letters, and ranges from one to a later one."""
    at += text[at : at + 1] == "^"
    first = at
    while at < len(text) and (text[at] != "]" or at == first):
        if text[at] == "\\":
            at = _escaped(text, at + 1, whole)
            continue
        if text[at] in "[]-\0" and not (text[at] == "-" and text[at + 1 : at + 2] == "]"):
            raise _unread(whole, at)
        if text[at + 1 : at + 2] == "-" and text[at + 2 : at + 3] not in ("]", ""):
            last = text[at + 2]
            if last in "\\[-" or last < text[at]:
                raise _unread(whole, at)
            at += 3
            continue
        at += 1
    if at >= len(text):
        raise _unread(whole, at)
    return at + 1


def _unread(pattern: str, at: int) -> Refusal:
    return Unsupported(
        f"the pattern {pattern!r} cannot be read from character {at + 1} on", hint=_HOW, ground=Ground.VALUE
    )
