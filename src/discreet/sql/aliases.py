"""Names behind AS and behind a dot: there any word is a name, also one that means something elsewhere (AS select)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.tokenizer_core import Token, TokenType

_WORD = re.compile(r"[^\W\d]\w*")
_BEGINNINGS = (TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN)
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING)
_CASTS = ("cast", "try_cast", "safe_cast")
_OF_WITH = (["materialized", "("], ["not", "materialized"])  # WITH x AS NOT MATERIALIZED (…)


def parsed(text: str) -> list[exp.Expr | None]:
    """The statements of a text, in which names may be keywords."""
    dialect = Postgres()
    return list(dialect.parser().parse(labelled(dialect.tokenize(text)), text))


def labelled(tokens: Sequence[Token]) -> list[Token]:
    """The tokens of a question; keywords where only a name can stand are names."""
    found = list(tokens)
    if found and found[0].token_type in _BEGINNINGS:
        for i in _labels(found):
            old = found[i]
            found[i] = Token(TokenType.VAR, old.text, old.line, old.col, old.start, old.end, old.comments)
    return found


def _labels(tokens: Sequence[Token]) -> Iterator[int]:
    """Where a keyword is a name."""
    name = -1  # where the last was found
    casts: list[bool] = []  # for each open parenthesis, whether CAST opened it: there a type follows AS
    for i, token in enumerate(tokens[:-1]):
        kind = token.token_type
        if kind == TokenType.L_PAREN:
            casts.append(i > 0 and tokens[i - 1].text.lower() in _CASTS)
        elif kind == TokenType.R_PAREN and casts:
            casts.pop()
        behind = tokens[i + 1]
        if i == name or behind.token_type in _NAMES or not _WORD.fullmatch(behind.text):
            continue
        following = [other.text.lower() for other in tokens[i + 1 : i + 3]]
        labels = kind == TokenType.ALIAS and not (casts and casts[-1]) and following not in _OF_WITH
        column = kind == TokenType.DOT and i > 0 and tokens[i - 1].token_type in _NAMES and following[1:] != ["("]
        if labels or column:
            name = i + 1
            yield name
