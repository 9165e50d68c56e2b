"""The same question for other programs: psql, curl, Python."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from fractions import Fraction
from urllib.parse import urlsplit

from discreet.exact import spoken
from discreet.mechanisms.mechanism import USUAL

_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104  # what a door that listens on all addresses says


def reached(wire: tuple[str, int], origin: str) -> tuple[str, int]:
    """Host and port by which whoever has this page open reaches the Postgres door."""
    host, port = wire
    return (urlsplit(origin).hostname or host if host in _EVERYWHERE else host), port


def psql(sql: str, terms: Mapping[str, object], who: str, at: tuple[str, int]) -> str:
    """As a command for psql; it asks for the token as a password."""
    said = "; ".join([*(f"SET discreet.{name} = {value}" for name, value in _terms(terms).items()), sql])
    address = f"host={at[0]} port={at[1]} user={who} dbname=discreet"
    return f"psql {shlex.quote(address)} -c {shlex.quote(said)}"


def http(sql: str, terms: Mapping[str, object], origin: str) -> str:
    """As a command for curl, with the token from the environment."""
    body = json.dumps({"sql": sql, **_terms(terms)}, ensure_ascii=False)
    return (
        f"curl {shlex.quote(f'{origin}/api/v1/query')} \\\n"
        '  -H "Authorization: Bearer $DISCREET_TOKEN" \\\n'
        "  -H 'Content-Type: application/json' \\\n"
        f"  -d {shlex.quote(body)}"
    )


def python(sql: str, terms: Mapping[str, object], origin: str) -> str:
    """As a few lines of Python."""
    given = "".join(f", {name}={value!r}" for name, value in _terms(terms).items())
    return (
        "import os\nimport discreet as dp\n\n"
        f'db = dp.connect({origin!r}, token=os.environ["DISCREET_TOKEN"])\n'
        f"answer = db.query({sql!r}{given})\nprint(answer)"
    )


def _terms(terms: Mapping[str, object]) -> dict[str, str | int]:
    """What was named, exactly; the usual confidence goes without saying."""
    usual = terms.get("confidence") == USUAL
    return {name: _value(each) for name, each in terms.items() if name != "confidence" or not usual}


def _value(each: object) -> str | int:
    if isinstance(each, int):
        return each
    number = each if isinstance(each, Fraction) else Fraction(str(each))
    text = spoken(number, 30)
    return str(number) if text.startswith("≈") else text
