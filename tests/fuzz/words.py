"""Words of made-up questions: constants at the ends of their types, odd names, and texts with words out of place."""

from __future__ import annotations

import random
import re

WHOLE = ("0", "1", "-1", "2", "7", "100", "-0", "00", "9007199254740993", "4611686018427387903")
REAL = ("0.5", "-0.0", "1e3", "1e-9", "99.99", "-1e30", "5e-324", ".5", "0.1e1", "3.141592653589793238462643383279")
TEXT = ("'north'", "'d1'", "'w1'", "''", "'%'", "'_'", "'w_'", "'a''b'", "'\\'", "'é'", "'İ'", "'\u202e'",
        "'\U0001d518'", "'nan'", "'1e999'", "'-- x'", "'/*'", "'" + "x" * 300 + "'")  # fmt: skip
DAY = ("DATE '2024-06-01'", "DATE '0001-01-01'", "DATE '9999-12-31'", "DATE '2024-02-29'")
TIME = ("TIMESTAMP '2024-06-01 12:00:00'", "TIMESTAMP '0001-01-01 00:00:00'",
        "CAST('9999-12-31 23:59:59.999999' AS timestamp)")  # fmt: skip
TYPES = ("bigint", "double precision", "varchar", "text", "int")
# What is rare in questions: constants that some types cannot hold, or that are read in several ways.
ODD_WHOLE = ("9223372036854775807", "9223372036854775808", "-9223372036854775808", "1" + "0" * 40,
             "170141183460469231731687303715884105728", "NULL")  # fmt: skip
ODD_REAL = ("1e308", "-1e308", "1e-400", "1e999", "5.", "1e", "0x1F", "1_000", "'1.5'", "NULL")
ODD_TEXT = ("E'\\n'", "$$x$$", "U&'\\0041'", "NULL", "N'x'", "B'101'", "X'1F'", "'a' 'b'", "1")
ODD_DAY = ("'2024-02-29'", "'2024-06-01'", "CURRENT_DATE", "DATE '2023-02-29'", "DATE 'infinity'", "'now'", "now()",
           "NULL", "'9999-12-31 23:59:59.999999'", "TIMESTAMP '2024-06-01 12:00:00+02'", "DATE '10000-01-01'",
           "TIME '12:00'", "DATE '4713-01-01 BC'", "TIMESTAMPTZ '2024-01-01'")  # fmt: skip
ODD_TYPES = ("date", "timestamp", "boolean", "smallint", "numeric", "decimal(10, 2)", "real", "interval", "json",
             "uuid", "bytea", "int[]", "hugeint", "time", "tinyint", "timestamptz", "numeric(38, 38)", "bit",
             "nope")  # fmt: skip
NAMES = ("x", "n", "count", "patient", "visits", '"select"', '"A b"', '"é"', '"x"', '"X"', '""', '"#0"', '"#unit"',
         "ｘ", '"a""b"', "_", '"key_0"', '"value_0"', "u", '"u"', '"' + "n" * 70 + '"', "order", "rowid", '"\u202e"',
         "#x", "key_0", "base", "pairs", '"f_wards"', "filling")  # fmt: skip
UNKNOWN = ("sin", "log10", "random", "md5", "concat", "replace", "reverse", "regexp_replace", "to_char", "chr", "sign",
           "pg_sleep", "getenv", "bar", "hash", "nextval", "version", "current_setting", "array_agg", "string_agg",
           "any_value", "mode", "first", "row", "date_part", "age", "make_date", "mod", "div", "trunc", "log", "lpad",
           "repeat", "split_part", "initcap", "cbrt", "pi", "radians", "gcd", "isnan", "try_cast", "unnest", "nope",
           "bool_or", "every", "corr", "regr_slope", "approx_count_distinct", "struct_pack", "list_value")  # fmt: skip
JUNK = ("(", ")", ",", ";", ".", "*", "::", "'", '"', "--", "/*", "*/", "NULL", "SELECT", "FROM", "WHERE", "AND", "OR",
        "NOT", "IN", "BY", "AS", "ON", "UNION", "ALL", "DISTINCT", "OVER", "CASE", "END", "@", "$1", "?", ":x", "{{",
        "\x00", "\u200b", "\ufeff", "\U0010ffff", "[1]", "~", "!", "<=>", "->", "=>", "||", "COLLATE", "LATERAL",
        "TABLESAMPLE", "QUALIFY", "PIVOT", "WITHIN", "GROUP", "ARRAY", "ROW", "VALUES", "INTERVAL", "#", "%s",
        "FOR UPDATE", "INTO x", "USING", "NATURAL", "EXCEPT", "INTERSECT", "RECURSIVE", "MATERIALIZED")  # fmt: skip
WORD = re.compile(r"(?:'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\w+|[^\w\s])\s*|\s+")


def split(text: str) -> list[str]:
    """The words of a text, each with the white space after it: joined again they are the text."""
    return WORD.findall(text)


def mutated(text: str, rng: random.Random) -> str:
    """A text with some words lost, doubled, swapped, or put in."""
    words = split(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        if not words:
            break
        here, there = rng.randrange(len(words)), rng.randrange(len(words))
        match rng.randrange(7):
            case 0:
                del words[here]
            case 1:
                words[here], words[there] = words[there], words[here]
            case 2:
                words.insert(there, words[here])
            case 3:
                words[here] = words[there]
            case 4:
                words.insert(here, f" {rng.choice(JUNK)} ")
            case 5:
                words[here] = rng.choice(rng.choice([JUNK, NAMES, WHOLE, REAL, TEXT, DAY])) + " "
            case _:
                first, last = sorted((here, there))
                words[first:last] = words[first:last] * 2 if rng.random() < 0.3 else []
    return "".join(words)


def dressed(text: str, rng: random.Random) -> str:  # noqa: PLR0911  # one a dress
    """The same question, written by somebody else: comments, white space, capitals, a semicolon or another question."""
    match rng.randrange(9):
        case 0:
            return f"-- a comment\n{text}"
        case 1:
            return text.replace(" ", " /* ' */ ", 2)
        case 2:
            return re.sub(r"\s", lambda _: rng.choice([" ", "\n", "\t", "\u00a0", "\r\n"]), text)
        case 3:
            return text.swapcase()
        case 4:
            return f"{text};"
        case 5:
            return f"{text}; {rng.choice([text, 'DROP TABLE visits', ';', 'SELECT 1', '--'])}"
        case 6:
            return f"({text})"
        case 7:
            return f"{rng.choice(['EXPLAIN ', 'EXPLAIN ANALYZE ', 'CREATE TABLE t AS ', 'WITH x AS '])}{text}"
        case _:
            return f"SELECT * FROM ({text}) AS {rng.choice(NAMES)}"


def garbage(rng: random.Random) -> str:
    """No question at all."""
    match rng.randrange(5):
        case 0:
            return "".join(chr(rng.choice([rng.randrange(1, 128), rng.randrange(0x110000)])) for _ in range(40))
        case 1:
            return " ".join(rng.choice(rng.choice([JUNK, NAMES, WHOLE, TEXT, UNKNOWN])) for _ in range(12))
        case 2:
            deep = rng.choice([5, 70, 3000])
            return "SELECT count(*) FROM visits WHERE " + "(" * deep + "urgent" + ")" * deep
        case 3:
            many = rng.choice([10, 900, 6000])
            return f"SELECT sum({'+'.join(['cost'] * many)}) FROM visits"
        case _:
            return "SELECT " + "NOT " * rng.choice([3, 80, 2000]) + "urgent FROM visits"
