"""The one form of a key: two spellings of one value are one key, whatever its type and wherever it comes from.

Text, whole numbers and truth values stand for themselves. Days, moments and numbers with digits after the point are
held as text in one spelling (2024-01-05, 2024-01-05 10:00:00, 0.5), which JSON, a plan and a ledger can all hold. NULL
is None.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, TypeVar

from discreet.errors import Ground, Refusal
from discreet.exact import shown

Key = str | int | bool | None
V = TypeVar("V")


class Type(Enum):
    """The types of columns; the value is the SQL name."""

    BOOLEAN = "boolean"
    BIGINT = "bigint"
    DOUBLE = "double"
    VARCHAR = "varchar"
    DATE = "date"
    TIMESTAMP = "timestamp"

    @property
    def numeric(self) -> bool:
        """Whether values of this type can be summed."""
        return self in (Type.BIGINT, Type.DOUBLE)

    @property
    def ordered(self) -> bool:
        """Whether values of this type lie between two others: numbers, days, moments."""
        return self.numeric or self.dated

    @property
    def dated(self) -> bool:
        """Whether values of this type are days or moments."""
        return self in (Type.DATE, Type.TIMESTAMP)


_HOW = {
    Type.BOOLEAN: "write true or false",
    Type.BIGINT: "write a whole number",
    Type.DOUBLE: "write a number, as in 0.5",
    Type.VARCHAR: "write text",
    Type.DATE: "write it as 2026-01-31; with a zone, as TIMESTAMPTZ '2026-01-31 12:00:00+02'",
    Type.TIMESTAMP: "write it as 2026-01-31 12:00:00, or with a zone as TIMESTAMPTZ '2026-01-31 12:00:00+02'",
}
_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_WIDEST = 1 << 63  # whole numbers lie below it
_LONGEST = 400  # characters of a number: no double has more digits before its point
_MOMENT = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ Tt] *(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d+))?)?)?", re.ASCII)
_TIME = r"(.*\d:\d{2}(?::\d{2}(?:\.\d+)?)?) *"
_AT_ZERO = re.compile(_TIME + r"(?:Z|UTC|[+-]00(?::?00)?)", re.ASCII | re.IGNORECASE)
_DISTANT = re.compile(_TIME + r"([+-])(\d{1,2})(?::?(\d{2}))?", re.ASCII)
_FARTHEST = 15  # hours, as in Postgres
_FIRST = dt.date(1970, 1, 1)
_BEGINNING = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # a moment by the clock on the wall
_ENDS = dt.datetime.min, dt.datetime.max  # noqa: DTZ901  # likewise
_TICK = dt.timedelta(microseconds=1)
_A_DAY = 86_400  # seconds


def canonical(value: object, kind: Type, what: str = "") -> Key:
    """The key that a value is in a column of this type; what is none of its values is refused, after `what` it is."""
    if value is None:
        return None
    try:
        return _READ[kind](value)
    except (ValueError, OverflowError, ArithmeticError):
        place, text = f"{what}: " if what else "", shown(value, repr if isinstance(value, str) else str)
        raise Refusal(
            f"{place}{text} is not a {kind.value}",
            hint=_HOW[kind],
            ground=Ground.VALUE,
        ) from None


def canonical_groups(groups: Mapping[tuple[Any, ...], V], kinds: Sequence[Type]) -> Mapping[tuple[Key, ...], V]:
    """Groups of an engine by canonical keys. Values that are equal there are one group there already."""
    if not any(kind is Type.DOUBLE or kind.dated for kind in kinds):
        return groups  # an engine's text, whole numbers and truth values are Python's
    return {tuple(map(canonical, group, kinds)): value for group, value in groups.items()}


def value_of(key: Key, kind: Type) -> object:
    """The Python value that a key spells."""
    if key is None:
        return None
    match kind:
        case Type.DATE:
            return dt.date.fromisoformat(str(key))
        case Type.TIMESTAMP:
            return dt.datetime.fromisoformat(str(key))
        case Type.DOUBLE:
            return float(str(key))
        case _:
            return key


def since_1970(value: object, kind: Type) -> int | None:
    """How many whole days, or seconds of a timestamp, after 1970 began a value lies; None if it is no day or moment."""
    try:
        since = (_moment_of(value) - _BEGINNING) // dt.timedelta(seconds=_A_DAY if kind is Type.DATE else 1)
    except (ValueError, TypeError, OverflowError):
        return None
    return since if type(since) is int else None  # of what is called no time it is no number


def number(text: object, kind: Type, what: str) -> Fraction:
    """The number of a day or a moment in ISO text: so many days, or seconds, after 1970 began."""
    moment = dt.datetime.fromisoformat(str(canonical(str(text), kind, what)))
    return Fraction((moment - _BEGINNING) // _TICK, 10**6 * (_A_DAY if kind is Type.DATE else 1))


def written(value: Fraction, kind: Type) -> str:
    """The day or the moment of a number, the nearest of the years 1 to 9999, in ISO text; of a number, its digits."""
    if kind is Type.DATE:
        first, last = ((end - _FIRST).days for end in (dt.date.min, dt.date.max))
        return (_FIRST + dt.timedelta(days=min(max(int(value), first), last))).isoformat()
    if kind is Type.TIMESTAMP:
        first, last = ((end - _BEGINNING) // _TICK for end in _ENDS)
        return (_BEGINNING + min(max(int(value * 10**6), first), last) * _TICK).isoformat(" ")
    return str(value)


def _boolean(value: object) -> bool:
    """As Postgres reads it: true, yes, on, 1, false, no, off, 0, or the beginning of one that is of no other."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, (int, str)) else ""
    meant = {truth for known, truth in _WORDS.items() if word and known.startswith(word)}
    if len(meant) != 1:
        raise ValueError
    return meant.pop()


def _whole(value: object) -> int:
    number = value if type(value) is int else _number(value)
    if number.denominator != 1 or not -_WIDEST <= number < _WIDEST:
        raise ValueError
    return number.numerator


def _double(value: object) -> str:
    """The shortest digits that mean the same double; zero has no sign."""
    number = value if isinstance(value, float) else float(_number(value))
    if not math.isfinite(number):
        raise ValueError
    return repr(number + 0.0).removesuffix(".0")


def _number(value: object) -> Fraction:
    """A number as it is written, exactly."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        raise ValueError  # noqa: TRY004  # one kind of mistake: it is not of the type
    text = str(value).strip()
    if len(text) > _LONGEST or "/" in text or "_" in text or not text.isascii():
        raise ValueError
    number = Decimal(text)
    if not number.is_finite() or abs(number.adjusted()) > _LONGEST:
        raise ValueError
    return Fraction(number)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError  # noqa: TRY004  # as above
    return str(value)


def _day(value: object) -> str:
    moment = _moment_of(value)
    if moment.time() != dt.time():
        raise ValueError
    return str(moment.date())


def _moment(value: object) -> str:
    return str(_moment_of(value))


def _moment_of(value: object) -> dt.datetime:
    """A moment by the clock on the wall, to the microsecond; a day is its midnight."""
    if isinstance(value, dt.date):
        moment = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
    elif isinstance(value, str):
        moment = _written_moment(value.strip())
    else:
        raise ValueError  # noqa: TRY004  # as above
    if moment.tzinfo is not None:
        raise ValueError
    return moment


def _written_moment(text: str) -> dt.datetime:
    """A moment as it is written; a zone may be named if it is UTC, since any other would be another moment."""
    text = at_zero[1] if (at_zero := _AT_ZERO.fullmatch(text)) else text
    written = _MOMENT.fullmatch(text)
    if written is None:
        if "." in text:  # it would cut digits off
            raise ValueError
        return dt.datetime.fromisoformat(text)
    year, month, day, hour, minute, second, fraction = (part or "0" for part in written.groups())
    if fraction[6:].strip("0"):
        raise ValueError
    parts = (int(part) for part in (year, month, day, hour, minute, second, fraction[:6].ljust(6, "0")))
    return dt.datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001  # columns have no zone


def zoned(text: str) -> str:
    """A moment with its distance from UTC (none: it is in UTC), as the moment that it is in UTC."""
    distant = _DISTANT.fullmatch(text.strip())
    if distant is None:
        return str(canonical(text, Type.TIMESTAMP))
    moment = dt.datetime.fromisoformat(str(canonical(distant[1], Type.TIMESTAMP)))
    sign, hours, minutes = distant[2], int(distant[3]), int(distant[4] or 0)
    if hours > _FARTHEST or minutes > 59:
        raise Refusal(f"{text!r} is not a timestamp", hint=_HOW[Type.TIMESTAMP], ground=Ground.VALUE)
    passed = dt.timedelta(hours=hours, minutes=minutes)
    try:
        return str(canonical(moment - passed if sign == "+" else moment + passed, Type.TIMESTAMP))
    except OverflowError:
        raise Refusal(f"{text!r} is not a timestamp", hint=_HOW[Type.TIMESTAMP], ground=Ground.VALUE) from None


_READ: dict[Type, Callable[[object], Key]] = {
    Type.BOOLEAN: _boolean,
    Type.BIGINT: _whole,
    Type.DOUBLE: _double,
    Type.VARCHAR: _text,
    Type.DATE: _day,
    Type.TIMESTAMP: _moment,
}
