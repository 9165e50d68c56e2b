"""The present moment in a question: CURRENT_DATE and now() become a day and a minute before anything is looked up.

So what was asked, paid and kept says which day it meant; the same words on another day are another question. Moments
are those of UTC, as everywhere here, and now() is told to the minute, so that who asks twice at once asks the same.
"""

from __future__ import annotations

import datetime as dt
import re

from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

_MENTIONED = re.compile(r"current_(date|timestamp)|localtimestamp|now", re.IGNORECASE)
_DAY, _MOMENT = "CURRENT_DATE", ("CURRENT_TIMESTAMP", "LOCALTIMESTAMP")


def bound(sql: str, now: dt.datetime | None = None) -> str:
    """The question with the day and the minute written out; as it is, where neither is mentioned."""
    if _MENTIONED.search(sql) is None:
        return sql
    try:
        tokens = Postgres().tokenize(sql)
    except TokenError:
        return sql  # which is told where it is parsed
    moment = (now or dt.datetime.now(dt.UTC)).replace(second=0, microsecond=0, tzinfo=None)
    made, at = [], 0
    for place, token in enumerate(tokens):
        meant = _meant(tokens, place)
        if meant is not None and token.start >= at:
            last, day = meant
            written = f"DATE '{moment.date().isoformat()}'" if day else f"TIMESTAMP '{moment.isoformat(' ')}'"
            made += [sql[at : token.start], written]
            at = last.end + 1
    return "".join([*made, sql[at:]])


def _meant(tokens: list[Token], place: int) -> tuple[Token, bool] | None:
    """The last token of what means a moment and begins here, and whether it is a day."""
    token, word = tokens[place], tokens[place].text.upper()
    if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) or _follows_a_name(tokens, place):
        return None
    if word == _DAY or word in _MOMENT:
        return token, word == _DAY
    called = [each.token_type for each in tokens[place + 1 : place + 3]] == [TokenType.L_PAREN, TokenType.R_PAREN]
    return (tokens[place + 2], False) if word == "NOW" and called else None


def _follows_a_name(tokens: list[Token], place: int) -> bool:
    """Whether it is a column of a table, or a name that is given: t.current_date, x AS now."""
    return place > 0 and tokens[place - 1].token_type in (TokenType.DOT, TokenType.ALIAS)
