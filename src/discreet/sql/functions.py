"""The functions a question may use on private rows: each total, of bounded cost per row, with its interval.

Arithmetic runs in doubles, and that of whole numbers in whole numbers of 128 bits, which hold what any two of 64 bits
make: there no value of a row can raise an error. What has no answer, or does not fit its type, is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.declared.group_key import Type
from discreet.sql.expression import Expression, Literal
from discreet.sql.histogram_bars import band, bar
from discreet.sql.value_range import Range, union

LONGEST_TEXT = 10_000  # characters of text that is put together
LONGEST_PATTERN = 100  # characters that are looked for in a text: what that costs is as many times the text's length
_LONGEST_TWICE = 80  # characters of SQL that may be written twice; what is longer is bound to a name

Ranging = Callable[[Sequence[Range]], Range]
Typing = Callable[[Sequence[Type]], Type | None]  # None: these types do not fit
Printing = Callable[[Sequence[str], Type], str]


@dataclass(frozen=True)
class Function:
    """How a function is typed, printed for DuckDB, and between which numbers it lies."""

    arity: tuple[int, int]
    typing: Typing
    printing: Printing
    ranging: Ranging = lambda _: Range()
    accepts: Callable[[Sequence[Expression]], bool] | None = None  # what its arguments must be besides their types
    wants: str = ""  # the same, in words


def _number(types: Sequence[Type]) -> Type | None:
    if not all(kind.numeric for kind in types):
        return None
    return Type.BIGINT if all(kind is Type.BIGINT for kind in types) else Type.DOUBLE


def _double(types: Sequence[Type]) -> Type | None:
    return Type.DOUBLE if all(kind.numeric for kind in types) else None


def _counting(types: Sequence[Type]) -> Type | None:
    return Type.BIGINT if types[0].numeric else None


def _same(types: Sequence[Type]) -> Type | None:
    return types[0] if len(set(types)) == 1 else _number(types)


def _truth(types: Sequence[Type]) -> Type | None:
    return Type.BOOLEAN if _same(types) is not None else None


def _texts(types: Sequence[Type]) -> Type | None:
    return Type.BOOLEAN if all(kind is Type.VARCHAR for kind in types) else None


def _flags(types: Sequence[Type]) -> Type | None:
    return Type.BOOLEAN if all(kind is Type.BOOLEAN for kind in types) else None


def _text(types: Sequence[Type]) -> Type | None:
    return Type.VARCHAR if types[0] is Type.VARCHAR and all(kind is Type.BIGINT for kind in types[1:]) else None


def _constants(*places: int) -> Callable[[Sequence[Expression]], bool]:
    """Whether the arguments at these places are whole numbers, or numbers, that the question itself writes."""
    return lambda args: all(isinstance(a, Literal) and a.value is not None for a in args[min(places) :])


def _pattern(args: Sequence[Expression]) -> bool:
    """Whether what is looked for is a short text that the question itself writes: no row decides what that costs."""
    sought = args[1] if len(args) > 1 else Literal(None, Type.VARCHAR)
    return isinstance(sought, Literal) and len(str(sought.value or "")) <= LONGEST_PATTERN


_PATTERN = f"what is looked for must be a text in quotes, of at most {LONGEST_PATTERN} characters"


def once(value: str, made: Callable[[str], str]) -> str:
    """What is made of a value in SQL that names it several times: a long value is written once and bound to a name.

    So what is written is as long as the question, however deeply it is nested: an engine takes what is written twice
    for two things, and a function of a function of one would be four.
    """
    if len(value) <= _LONGEST_TWICE:
        return made(value)
    return f'list_transform([{value}], lambda "#once": {made(chr(34) + "#once" + chr(34))})[1]'


def _nonzero(value: str) -> str:
    return once(value, lambda name: f"nullif({name}, 0)")


def _double_of(text: str) -> str:
    return f"CAST({text} AS DOUBLE)"


def _as(kind: Type, text: str) -> str:
    """A double back in the type it stands for; NULL if it does not fit."""
    return f"TRY_CAST({text} AS BIGINT)" if kind is Type.BIGINT else text


def _in(kind: Type, text: str) -> str:
    """A number in the type in which it is computed with: a double would lose the last digits of a whole one."""
    return f"CAST({text} AS {'HUGEINT' if kind is Type.BIGINT else 'DOUBLE'})"


def _infix(operator: str) -> Printing:
    return lambda args, kind: _as(kind, f"({_in(kind, args[0])} {operator} {_in(kind, args[1])})")


def _divide(args: Sequence[str], kind: Type) -> str:
    """The quotient; of whole numbers, without its digits after the point."""
    operator = "//" if kind is Type.BIGINT else "/"
    return _as(kind, f"({_in(kind, args[0])} {operator} {_nonzero(_in(kind, args[1]))})")


def _remainder(args: Sequence[str], kind: Type) -> str:
    return _as(kind, f"({_in(kind, args[0])} % {_nonzero(_in(kind, args[1]))})")


def _root(args: Sequence[str], _: Type) -> str:
    """The square root; of a negative number 0. GREATEST would make a number of NULL."""
    return once(_double_of(args[0]), lambda name: f"sqrt(CASE WHEN {name} < 0 THEN 0 ELSE {name} END)")


def _finite(name: str) -> Printing:
    """A function of numbers; what is infinite, or no number, has no answer."""
    return lambda args, _: once(_double_of(args[0]), lambda x: f"{name}(CASE WHEN isfinite({x}) THEN {x} END)")


def _sign(args: Sequence[str], _: Type) -> str:
    return f"CAST(sign({_double_of(args[0])}) AS BIGINT)"


def _matches(options: str) -> Printing:
    """Whether a text holds what a pattern fits; a point in it is any letter, also one that ends a line."""
    return lambda args, _: f"regexp_matches({args[0]}, {args[1]}, '{options}')"


def _whole(name: str) -> Printing:
    """A function that leaves whole numbers as they are."""
    return lambda args, kind: args[0] if kind is Type.BIGINT else f"{name}({_double_of(args[0])})"


def _call(name: str) -> Printing:
    return lambda args, _: f"{name}({', '.join(args)})"


def _compare(operator: str) -> Printing:
    return lambda args, _: f"({args[0]} {operator} {args[1]})"


def _letters(text: str, fewest: int = -1_000_000) -> str:
    """A number of letters: engines count them in 32 bits, and GREATEST would make a number of NULL."""
    return once(
        text, lambda name: f"(CASE WHEN {name} IS NOT NULL THEN least(greatest({name}, {fewest}), 1000000) END)"
    )


def _substring(args: Sequence[str], _: Type) -> str:
    length = f", {_letters(args[2], 0)}" if len(args) > 2 else ""
    return f"substring({args[0]}, {_letters(args[1])}{length})"


def _rounded(args: Sequence[str], kind: Type) -> str:
    if len(args) == 1:
        return _whole("round")(args, kind)
    digits = f"CAST(least(greatest({args[1]}, -30), 30) AS INTEGER)"

    def near(name: str) -> str:
        return _as(kind, f"round({_double_of(name)}, {digits})")

    if kind is not Type.BIGINT:
        return near(args[0])
    return once(args[0], lambda name: f"(CASE WHEN {args[1]} < 0 THEN {near(name)} ELSE {name} END)")


def _rounded_range(ranges: Sequence[Range]) -> Range:
    """Rounding moves a number by half a step of its last digit at most."""
    if len(ranges) == 1 or ranges[1].low is None:
        return ranges[0].whole()
    half = Fraction(10) ** -int(max(min(ranges[1].low, Fraction(30)), Fraction(-30))) / 2
    return ranges[0] + Range(-half, half)


def _power(args: Sequence[str], _: Type) -> str:
    """One over a power where the exponent is negative: 0 and −0 are one number, and both have no answer then."""
    exponent = _double_of(args[1])
    raised = f"pow({_double_of(args[0])}, abs({exponent}))"
    return once(raised, lambda name: f"(CASE WHEN {exponent} < 0 THEN (1 / nullif({name}, 0)) ELSE {name} END)")


def _bucket_type(types: Sequence[Type]) -> Type | None:
    return Type.BIGINT if all(kind.numeric for kind in types) and types[3] is Type.BIGINT else None


def _bucket(args: Sequence[str], _: Type) -> str:
    """As the standard has it: 0 below the first bucket, one more than there are from the end of the last one on."""
    value, low, high = (_double_of(text) for text in args[:3])

    def bucket(name: str) -> str:
        place = f"floor(({name} - {low}) * {args[3]} / nullif({high} - {low}, 0)) + 1"
        return f"CASE WHEN {name} IS NOT NULL THEN least(greatest({place}, 0), {args[3]} + 1) END"

    return f"TRY_CAST({once(value, bucket)} AS BIGINT)"


def _bucket_range(ranges: Sequence[Range]) -> Range:
    most = ranges[3].high
    return Range(Fraction(0), None if most is None else most + 1)


def _joined_text(types: Sequence[Type]) -> Type | None:
    return Type.VARCHAR if all(kind is Type.VARCHAR for kind in types) else None


def _place_type(types: Sequence[Type]) -> Type | None:
    return Type.BIGINT if all(kind is Type.VARCHAR for kind in types) else None


def _day(args: Sequence[str], sign: str) -> str:
    """A date so many days off, NULL outside the years 1 to 9999; no row can name a number of days that overflows."""
    days = f"CAST(least(greatest({args[1]}, -4000000), 4000000) AS INTEGER)"
    return _within(f"({args[0]} {sign} {days})", "DATE")


def _later(args: Sequence[str], unit: str, most: int) -> str:
    number = f"least(greatest({args[1]}, {-most}), {most})"
    whole = f"CAST({number} AS INTEGER)" if unit == "to_months" else number
    return _within(f"(CAST({args[0]} AS TIMESTAMP) + {unit}({whole}))", "TIMESTAMP")


def _later_type(types: Sequence[Type]) -> Type | None:
    return Type.TIMESTAMP if types[0] in (Type.DATE, Type.TIMESTAMP) and types[1] is Type.BIGINT else None


def _dates(one: Type, two: Type, result: Type) -> Typing:
    return lambda types: result if list(types) == [one, two] else None


def _within(text: str, kind: str) -> str:
    return once(text, lambda name: within(name, kind))


def within(name: str, kind: str) -> str:
    """A date or a timestamp, NULL outside the years 1 to 9999."""
    return f"(CASE WHEN {name} BETWEEN {kind} '0001-01-01' AND {kind} '9999-12-31' THEN {name} END)"


def _null_if(args: Sequence[str], _: Type) -> str:
    """As an engine has it, which takes its first argument twice."""
    return once(args[0], lambda name: f"nullif({name}, {args[1]})")


def _moment_of_seconds(args: Sequence[str], _: Type) -> str:
    """A moment so many seconds after 1970 began: NULL outside the years 1 to 9999, also of what is no number."""
    first, last = -62_135_596_800, 253_402_300_800  # of those years; what lies beyond is moved there, and then NULL
    near = f"least(greatest({_double_of(args[0])}, {first - 1}), {last})"
    return _within(f"make_timestamp(CAST(round({near} * 1000000) AS BIGINT))", "TIMESTAMP")


def _parted(types: Sequence[Type]) -> Type | None:
    return Type.VARCHAR if list(types) == [Type.VARCHAR, Type.VARCHAR, Type.BIGINT] else None


def _among(args: Sequence[str], *, null: bool) -> str:
    listed = [f"{args[0]} IN ({', '.join(args[1:])})"] if args[1:] else []
    return f"({' OR '.join([*listed, *([f'{args[0]} IS NULL'] if null else [])]) or 'FALSE'})"


# What no question can write: whether a key is among its declared values, and a digest of a text.
DECLARED, DECLARED_OR_NULL, DIGEST = "declared", "declared or null", "digest"
_MOST_KEYS = 1 << 30

FUNCTIONS: dict[str, Function] = {
    "+": Function((2, 2), _number, _infix("+"), lambda r: r[0] + r[1]),
    "-": Function((2, 2), _number, _infix("-"), lambda r: r[0] - r[1]),
    "*": Function((2, 2), _number, _infix("*"), lambda r: r[0] * r[1]),
    "/": Function((2, 2), _number, _divide, lambda r: r[0] / r[1]),
    "%": Function((2, 2), _number, _remainder, lambda r: r[0] % r[1]),
    "negative": Function((1, 1), _number, lambda args, kind: _as(kind, f"(- {_in(kind, args[0])})"), lambda r: -r[0]),
    "abs": Function((1, 1), _number, lambda args, kind: _as(kind, f"abs({_in(kind, args[0])})"), lambda r: abs(r[0])),
    "floor": Function((1, 1), _number, _whole("floor"), lambda r: r[0].whole()),
    "ceil": Function((1, 1), _number, _whole("ceil"), lambda r: r[0].whole()),
    "round": Function((1, 2), _number, _rounded, _rounded_range, _constants(1)),
    "sqrt": Function((1, 1), _double, _root, lambda r: r[0].sqrt()),
    "exp": Function((1, 1), _double, lambda args, _: f"exp({_double_of(args[0])})", lambda r: r[0].exp()),
    "closed band": Function(
        (1, 1), lambda types: Type.BIGINT if types[0].numeric else None, lambda args, _: band(args[0])
    ),
    "bar": Function((1, 1), lambda types: Type.BIGINT if types[0].numeric else None, lambda args, _: bar(args[0])),
    "cos": Function((1, 1), _double, _finite("cos"), lambda _: Range(Fraction(-1), Fraction(1))),
    "sin": Function((1, 1), _double, _finite("sin"), lambda _: Range(Fraction(-1), Fraction(1))),
    "atan": Function((1, 1), _double, _finite("atan"), lambda _: Range(Fraction(-2), Fraction(2))),
    "sign": Function((1, 1), _counting, _sign, lambda _: Range(Fraction(-1), Fraction(1))),
    "trunc": Function((1, 1), _number, _whole("trunc"), lambda r: r[0].whole()),
    "ln": Function(
        (1, 1), _double, lambda args, _: f"ln({_nonzero(f'greatest({_double_of(args[0])}, 0)')})", lambda r: r[0].ln()
    ),
    "power": Function((2, 2), _double, _power, lambda r: r[0].power(r[1]), _constants(1)),
    "width_bucket": Function((4, 4), _bucket_type, _bucket, _bucket_range, _constants(1)),
    "between": Function((3, 3), _truth, lambda args, _: f"({args[0]} BETWEEN {args[1]} AND {args[2]})"),
    "nullif": Function((2, 2), _same, _null_if, lambda r: r[0]),
    "days between": Function(
        (2, 2),
        _dates(Type.DATE, Type.DATE, Type.BIGINT),
        lambda args, _: f"date_diff('day', {args[1]}, {args[0]})",
        lambda r: r[0] - r[1],
    ),
    "day number": Function(
        (1, 1),
        lambda types: Type.BIGINT if types[0] is Type.DATE else None,
        lambda args, _: f"date_diff('day', DATE '1970-01-01', {args[0]})",
        lambda r: r[0],
    ),
    "second number": Function(
        (1, 1),
        lambda types: Type.DOUBLE if types[0] is Type.TIMESTAMP else None,
        lambda args, _: f"(epoch_us({args[0]}) / 1000000.0)",
        lambda r: r[0],
    ),
    "days after": Function((2, 2), _dates(Type.DATE, Type.BIGINT, Type.DATE), lambda args, _: _day(args, "+")),
    "days before": Function((2, 2), _dates(Type.DATE, Type.BIGINT, Type.DATE), lambda args, _: _day(args, "-")),
    "later month": Function((2, 2), _later_type, lambda args, _: _later(args, "to_months", 120_000)),
    "later second": Function((2, 2), _later_type, lambda args, _: _later(args, "to_seconds", 10**11)),
    "moment of seconds": Function(
        (1, 1), lambda types: Type.TIMESTAMP if types[0].numeric else None, _moment_of_seconds
    ),
    "moment by format": Function(
        (2, 2),
        lambda types: Type.TIMESTAMP if list(types) == [Type.VARCHAR, Type.VARCHAR] else None,
        lambda args, _: _within(f"try_strptime({args[0]}, {args[1]})", "TIMESTAMP"),
        accepts=_constants(1),
    ),
    "item": Function(
        (3, 3),
        _parted,
        lambda args, _: f"list_extract(string_split({args[0]}, {args[1]}), {args[2]})",
        accepts=_constants(1),
    ),
    "part": Function((3, 3), _parted, _call("split_part"), accepts=_constants(1)),
    "least": Function((1, 16), _same, _call("least"), union),  # `ranging` knows which of them are constants
    "greatest": Function((1, 16), _same, _call("greatest"), union),
    "coalesce": Function((1, 16), _same, _call("coalesce"), union),
    "=": Function((2, 2), _truth, _compare("=")),
    "<>": Function((2, 2), _truth, _compare("<>")),
    "<": Function((2, 2), _truth, _compare("<")),
    "<=": Function((2, 2), _truth, _compare("<=")),
    ">": Function((2, 2), _truth, _compare(">")),
    ">=": Function((2, 2), _truth, _compare(">=")),
    "and": Function((2, 2), _flags, _compare("AND")),
    "or": Function((2, 2), _flags, _compare("OR")),
    "not": Function((1, 1), _flags, lambda args, _: f"(NOT {args[0]})"),
    "is null": Function((1, 1), lambda _: Type.BOOLEAN, lambda args, _: f"({args[0]} IS NULL)"),
    "in": Function((2, 1000), _truth, lambda args, _: f"({args[0]} IN ({', '.join(args[1:])}))"),
    DECLARED: Function((1, _MOST_KEYS), _truth, lambda args, _: _among(args, null=False)),
    DECLARED_OR_NULL: Function((1, _MOST_KEYS), _truth, lambda args, _: _among(args, null=True)),
    DIGEST: Function((1, 1), _text, _call("sha256")),
    "like": Function((2, 2), _texts, _compare("LIKE"), accepts=_pattern, wants=_PATTERN),
    "ilike": Function((2, 2), _texts, _compare("ILIKE"), accepts=_pattern, wants=_PATTERN),
    "is": Function((2, 2), _truth, _compare("IS NOT DISTINCT FROM")),
    "is distinct from": Function((2, 2), _truth, _compare("IS DISTINCT FROM")),
    "||": Function((2, 2), _joined_text, lambda args, _: f"left({args[0]} || {args[1]}, {LONGEST_TEXT})"),
    "trim": Function((1, 2), _joined_text, _call("trim"), accepts=_pattern, wants=_PATTERN),
    "left": Function((2, 2), _text, lambda args, _: f"left({args[0]}, {_letters(args[1])})"),
    "position": Function(
        (2, 2), _place_type, lambda args, _: f"position({args[1]} IN {args[0]})", accepts=_pattern, wants=_PATTERN
    ),
    "right": Function((2, 2), _text, lambda args, _: f"right({args[0]}, {_letters(args[1])})"),
    "matches": Function((2, 2), _texts, _matches("s"), accepts=_pattern, wants=_PATTERN),
    "matches in any case": Function((2, 2), _texts, _matches("si"), accepts=_pattern, wants=_PATTERN),
    "formatted": Function(
        (2, 2),
        lambda types: Type.VARCHAR if types[0].dated and types[1] is Type.VARCHAR else None,
        lambda args, _: f"strftime({args[0]}, {args[1]})",
        accepts=_constants(1),
    ),
    "lower": Function((1, 1), _text, _call("lower")),
    "upper": Function((1, 1), _text, _call("upper")),
    "length": Function((1, 1), lambda types: Type.BIGINT if types[0] is Type.VARCHAR else None, _call("length")),
    "substring": Function((2, 3), _text, _substring),
}
