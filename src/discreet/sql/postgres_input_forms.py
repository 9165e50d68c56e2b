"""What Postgres and its drivers write in ways of their own, in the few forms that the planner knows.

Moments have no zone here: one with a zone is taken as it is in UTC, and so is what `AT TIME ZONE 'UTC'` says. A moment
or a day read by a format, or from seconds, and a part of a text between separators are constants where they can be.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

from sqlglot import exp

from discreet.declared.group_key import Type, canonical, zoned
from discreet.errors import Ground, Refusal, Unsupported
from discreet.sql.tree_rewriting import unwrapped
from discreet.sql.wording import shown

_Kind = exp.DataType.Type
_ZONED = (_Kind.TIMESTAMPTZ, _Kind.TIMESTAMPLTZ)
_TEXTS = (_Kind.VARCHAR, _Kind.TEXT)
_WHOLE = (_Kind.SMALLINT, _Kind.INT, _Kind.BIGINT)
_FLOATS = (_Kind.FLOAT, _Kind.DOUBLE)
_REALS = (*_FLOATS, _Kind.DECIMAL)
_UTC = ("utc", "z", "gmt", "etc/utc", "+00", "+00:00", "00:00")
_MOST_PARTS = 1000
_LONGEST = 100  # characters of a separator or a format: what they cost is as many times the text's length
BEGINNING = "1970-01-01 00:00:00"
OF_ARRAY = "of array"  # a part that is not there is NULL, and not an empty text

# What a format may consist of: years, months … as `strptime` calls them, and what stands between them. The parser has
# replaced some of Postgres' words already, and left others.
_FORMAT = re.compile(
    r"""%-?(?P<known>[YmdHIMSfj]) | "(?P<quoted>[^"%]*)"
    | (?P<word>yyyy|month|mon|mm|ddd|dd|hh24|hh12|hh|mi|ss|ms|us|am|pm|a\.m\.|p\.m\.)
    | (?P<between>[^A-Za-z%"]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_WORDS = {
    "yyyy": "%Y", "mm": "%m", "ddd": "%j", "dd": "%d", "mi": "%M", "ss": "%S", "hh24": "%H", "hh12": "%I",
    "hh": "%I", "am": "%p", "pm": "%p", "ms": "%f", "us": "%f", "month": "%B", "mon": "%b",
}  # fmt: skip
_HOW = "a format has YYYY, MM or Mon, DD, HH24, MI, SS and MS, and other letters in double quotes"


def plain(tree: exp.Expr) -> None:
    """Rewrite a question in place."""
    for node in reversed(list(tree.walk())):  # from the leaves on, so that constants are seen as constants
        rule = _RULES.get(type(node))
        if rule is not None:
            rule(node)


def _count(node: exp.Expr) -> None:
    """LIMIT $1::INTEGER, as drivers write it."""
    number = node.expression
    while isinstance(number, (exp.Cast, exp.Paren)):
        number = number.this
    node.set("expression", number)


def _cast(node: exp.Expr) -> None:
    """A constant in its own type is the constant, as drivers write it: 'north'::VARCHAR, 2::INTEGER, 0.5::FLOAT(53)."""
    kind = node.args["to"]
    if kind.this in _FLOATS or _microseconds(kind):
        kind.set("expressions", [])
    if not kind.expressions and _is_own(node.this, kind.this):
        node.replace(node.this)
        return
    if kind.this == _Kind.INTERVAL and isinstance(node.this, exp.Literal):
        _interval(node, node.this.name)
        return
    if kind.this not in _ZONED:
        return
    if isinstance(node.this, exp.Literal) and node.this.is_string:
        node.this.set("this", zoned(node.this.name))
    _retype(node)


def _interval(node: exp.Expr, text: str) -> None:
    """'3 months'::INTERVAL."""
    told = _INTERVAL.fullmatch(text.strip())
    if told is not None:
        node.replace(exp.Interval(this=exp.Literal.string(told[1]), unit=exp.Var(this=told[2].upper())))


def _part_of_time(node: exp.Expr) -> None:
    """date_trunc('month'::VARCHAR, day), date_part('year'::VARCHAR, day)."""
    name = "this" if isinstance(node, exp.Extract) else "unit"
    word = node.args.get(name)
    if isinstance(word, exp.Literal) and word.is_string:
        node.set(name, exp.Var(this=word.name.upper()))


def _is_own(node: exp.Expr, kind: exp.DType) -> bool:
    """Whether a constant has this type without being told."""
    value = unwrapped(node)
    value = unwrapped(value.this) if isinstance(value, exp.Neg) else value
    if isinstance(value, exp.Boolean):
        return kind == _Kind.BOOLEAN
    if not isinstance(value, exp.Literal):
        return False
    if value.is_string:
        return kind in _TEXTS and value is unwrapped(node)
    return kind in _WHOLE if value.name.isdecimal() else kind in _REALS


def _microseconds(kind: exp.Expr) -> bool:
    """Whether a moment is told to have the digits that all have: TIMESTAMP(6)."""
    digits = [part.this.name for part in kind.expressions if isinstance(part, exp.DataTypeParam)]
    return kind.this in (*_ZONED, _Kind.TIMESTAMP) and digits == ["6"]


def _retype(node: exp.Expr) -> None:
    precise = [part for part in node.args["to"].expressions if isinstance(part, exp.DataTypeParam)]
    node.set("to", exp.DataType(this=_Kind.TIMESTAMP, expressions=precise))


def _at_zone(node: exp.Expr) -> None:
    zone = node.args.get("zone")
    if not isinstance(zone, exp.Literal) or zone.name.strip().lower() not in _UTC:
        raise Unsupported(
            f"{shown(node)} names a time zone", hint="times have none here: leave it out, or say AT TIME ZONE 'UTC'"
        )
    node.replace(_typed(node.this, Type.TIMESTAMP))


def _typed(node: exp.Expr, kind: Type) -> exp.Cast:
    return exp.cast(node.copy(), kind.value)


def _formatted(node: exp.Expr) -> None:
    """to_timestamp(text, format), to_date(text, format)."""
    wanted = Type.DATE if isinstance(node, exp.StrToDate) else Type.TIMESTAMP
    form = node.args.get("format")
    if not isinstance(form, exp.Literal) or not form.is_string or len(form.name) > _LONGEST:
        raise Unsupported(f"{shown(node)}: the format is not a constant", hint="write it as in 'YYYY-MM-DD'")
    parts = _parts(form.name)
    if isinstance(node.this, exp.Literal) and node.this.is_string:
        node.replace(_typed(exp.Literal.string(_read(node.this.name, parts, wanted)), wanted))
        return
    node.set("format", exp.Literal.string(parts))
    node.set("safe", exp.Boolean(this=True))  # a text that is no moment is NULL


def _parts(form: str) -> str:
    """A format as `strptime` has it."""
    made, at = "", 0
    while at < len(form):
        piece = _FORMAT.match(form, at)
        if piece is None:
            raise Unsupported(f"the format {form!r} is not supported", hint=_HOW)
        word = piece["word"]
        if piece["known"]:
            made += f"%{piece['known']}"
        elif word:
            made += _WORDS[word.lower().replace(".", "")]
        else:
            made += piece["quoted"] if piece["quoted"] is not None else piece["between"]
        at = piece.end()
    if "%Y" not in made:
        raise Unsupported(f"the format {form!r} names no year", hint=_HOW)
    return made


def _read(text: str, form: str, kind: Type) -> str:
    """A constant by a format, in its one spelling."""
    try:
        moment = dt.datetime.strptime(text.strip(), form)  # noqa: DTZ007  # there are no zones
    except ValueError:
        raise Refusal(
            f"{text!r} is not of the form that to_{'date' if kind is Type.DATE else 'timestamp'} is told",
            hint="write the text as the format says",
            ground=Ground.VALUE,
        ) from None
    return str(canonical(moment.date() if kind is Type.DATE else moment, kind))


def _seconds(node: exp.Expr) -> None:
    """to_timestamp(seconds)."""
    if node.args.get("scale") is not None:
        raise Unsupported(f"{shown(node)} is not supported", hint="to_timestamp takes seconds, or a text and a format")
    inner = unwrapped(node.this)
    negative = isinstance(inner, exp.Neg)
    number = unwrapped(inner.this) if negative else inner
    if not isinstance(number, exp.Literal) or number.is_string:
        return
    try:
        passed = dt.timedelta(microseconds=round(float(number.name) * 10**6))
        moment = dt.datetime.fromisoformat(BEGINNING) + (-passed if negative else passed)
    except (ValueError, OverflowError):
        raise Refusal(f"{shown(node)} is no moment", hint="moments lie in the years 1 to 9999") from None
    node.replace(_typed(exp.Literal.string(str(canonical(moment, Type.TIMESTAMP))), Type.TIMESTAMP))


def _item(node: exp.Expr) -> None:
    """(regexp_split_to_array(text, ','))[2]: the part of a text between separators."""
    array, places = unwrapped(node.this), node.expressions
    if isinstance(array, exp.StringToArray):
        split, by = array.this, array.expression
        plainly = not array.args.get("null")
    elif isinstance(array, exp.Anonymous) and array.name.lower() == "regexp_split_to_array":
        plainly = len(array.expressions) == 2
        split, by = array.expressions if plainly else (None, None)
    else:
        return
    pattern = isinstance(array, exp.Anonymous)
    text = by.name if isinstance(by, exp.Literal) and by.is_string else ""
    if not plainly or not text or (pattern and not (text := _literally(text))):
        raise Unsupported(
            f"{shown(node)} is not supported", hint="split by a constant text without signs of a pattern, as in ','"
        )
    place = unwrapped(places[0]) if len(places) == 1 else None
    number = int(place.name) if isinstance(place, exp.Literal) and place.name.isdecimal() else -1
    number += 1 - int(node.args.get("offset") or 0)  # the parser counts from 0 where it is told to
    made = exp.SplitPart(this=split.copy(), delimiter=exp.Literal.string(text), part_index=exp.Literal.number(number))
    made.meta[OF_ARRAY] = True
    node.replace(made)
    _part(made)


def _literally(pattern: str) -> str:
    """The text that a pattern fits and no other; nothing if there is none."""
    made = re.sub(r"\\([^A-Za-z0-9])", r"\1", pattern)
    bare = re.sub(r"\\[^A-Za-z0-9]", "", pattern)
    return "" if re.search(r"[\\.^$*+?()\[\]{}|]", bare) else made


def _part(node: exp.Expr) -> None:
    """split_part(text, ',', 2)."""
    by, place = node.args.get("delimiter"), node.args.get("part_index")
    constant = isinstance(by, exp.Literal) and by.is_string and 1 <= len(by.name) <= _LONGEST
    number = int(place.name) if isinstance(place, exp.Literal) and place.name.isdecimal() else 0
    if not constant or not 1 <= number <= _MOST_PARTS:
        raise Unsupported(
            f"{shown(node)} is not supported", hint=f"split by a constant text, and name a part from 1 to {_MOST_PARTS}"
        )


_INTERVAL = re.compile(r"([0-9]{1,9}) ([A-Za-z]+)", re.ASCII)
_RULES: dict[type[exp.Expr], Callable[[exp.Expr], None]] = {
    exp.Limit: _count,
    exp.Offset: _count,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.AtTimeZone: _at_zone,
    exp.TimestampTrunc: _part_of_time,
    exp.DateTrunc: _part_of_time,
    exp.Extract: _part_of_time,
    exp.StrToTime: _formatted,
    exp.StrToDate: _formatted,
    exp.UnixToTime: _seconds,
    exp.Bracket: _item,
    exp.SplitPart: _part,
}


def written_out(tree: exp.Expr) -> None:
    """Write what is left of it as an engine above the noise reads it."""
    for split in list(tree.find_all(exp.SplitPart)):
        if split.meta.get(OF_ARRAY):
            parts = exp.func("string_split", split.this.copy(), split.args["delimiter"].copy())
            split.replace(exp.func("list_extract", parts, split.args["part_index"].copy()))
