"""Parser of questions about the catalogue: Postgres text into a tree in which functions and types keep their names.

A parser that means to translate between dialects knows many functions and few of Postgres's own types. Here it is told
to leave functions alone, and the tokens are put in order before it sees them: types are quoted as one word, a schema
before a function, OPERATOR(…) and COLLATE go.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import Ground, Refusal
from discreet.server.pg_catalog.types import CATALOGUE, CatalogueRelation, facts
from discreet.sql.wording import labelled

LONGEST = 40_000  # characters; the longest text any client is known to send has a tenth of it
MARK = "pg "  # before a type's name: no type that the parser knows begins so
SCHEMAS = ("pg_catalog", "information_schema")

_KEYWORDS = frozenset(word.lower() for word in Postgres.Tokenizer.KEYWORDS if word.isalpha())
_SYNTAX = ("CAST", "EXTRACT", "POSITION", "SUBSTRING", "TRIM")  # calls whose arguments are not a list
_BEGINNINGS = (TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.TABLE, TokenType.L_PAREN)
_WORDS = {  # types of several words
    ("double", "precision"): "float8",
    ("character", "varying"): "varchar",
    ("bit", "varying"): "varbit",
    ("timestamp", "with", "time", "zone"): "timestamptz",
    ("timestamp", "without", "time", "zone"): "timestamp",
    ("time", "with", "time", "zone"): "timetz",
    ("time", "without", "time", "zone"): "time",
}
_STARTS = {words[:size] for words in _WORDS for size in range(1, len(words) + 1)}


class PlainPostgres(Postgres):
    """Postgres without a mind of its own about functions and subscripts."""

    INDEX_OFFSET = 0

    class Parser(PostgresParser):
        """Every function but those with a syntax of their own is a name and its arguments."""

        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {
            name: parser for name, parser in PostgresParser.FUNCTION_PARSERS.items() if name in _SYNTAX
        }


@lru_cache(maxsize=512)
def read(text: str) -> exp.Query:
    """The one question in a text. The tree is shared: copy before a change."""
    if len(text) > LONGEST:
        raise Refusal(f"a question about the catalogue has at most {LONGEST} characters, got {len(text)}")
    try:
        tokens = PlainPostgres().tokenize(text)
        if not tokens or tokens[0].token_type not in _BEGINNINGS:  # of anything else the parser would write a log
            raise Refusal("the catalogue answers one SELECT at a time", hint="ask them one by one")
        trees = [tree for tree in PlainPostgres().parse(_ordered(text, labelled(tokens))) if tree is not None]
    except (ParseError, TokenError):
        raise Refusal("this is not SQL as Postgres would read it", ground=Ground.SYNTAX) from None
    except RecursionError:
        raise Refusal("this question is nested too deeply", hint="split it") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise Refusal(f"the catalogue answers one SELECT at a time, got {len(trees)}", hint="ask them one by one")
    return trees[0]


def _ordered(text: str, tokens: list[Token]) -> str:
    """The text with its types quoted and without what means nothing here."""
    return " ".join(_pieces(text, tokens))


def _pieces(text: str, tokens: list[Token]) -> Iterator[str]:
    casts: list[bool] = []  # for each open parenthesis, whether CAST opened it
    i = 0
    while i < len(tokens):
        token = tokens[i]
        kind, word = token.token_type, token.text.lower()
        following = [other.token_type for other in tokens[i + 1 : i + 4]]
        if kind == TokenType.L_PAREN:
            casts.append(i > 0 and tokens[i - 1].text.lower() == "cast")
        elif kind == TokenType.R_PAREN and casts:
            casts.pop()
        if word == "operator" and following[:1] == [TokenType.L_PAREN]:
            i, operator = _operator(tokens, i + 2)
            yield operator
        elif kind == TokenType.COLLATE:
            i = _name_end(tokens, i + 1)
        elif kind == TokenType.DCOLON or (kind == TokenType.ALIAS and casts and casts[-1]):
            i, name = _type(tokens, i + 1)
            yield f'{"::" if kind == TokenType.DCOLON else "AS"} "{MARK}{name}"'
        elif word in SCHEMAS and following[:1] == [TokenType.DOT] and following[2:] == [TokenType.L_PAREN]:
            i += 2
        elif kind == TokenType.VAR and word in _KEYWORDS:  # a name, since it is no keyword here
            yield f'"{word}"'
            i += 1
        else:
            yield text[token.start : token.end + 1]
            i += 1


def _operator(tokens: list[Token], i: int) -> tuple[int, str]:
    """OPERATOR(schema.symbols): where it ends, and the symbols."""
    symbols = ""
    while i < len(tokens) and tokens[i].token_type != TokenType.R_PAREN:
        symbols = "" if tokens[i].token_type == TokenType.DOT else symbols + tokens[i].text
        i += 1
    return i + 1, symbols


def _name_end(tokens: list[Token], i: int) -> int:
    """Where a name with its schema ends."""
    i += 1
    while i < len(tokens) and tokens[i].token_type == TokenType.DOT:
        i += 2
    return i


def _type(tokens: list[Token], i: int) -> tuple[int, str]:
    """A type from here on: where it ends, and its one-word name, with [] if it is an array."""
    if i + 1 < len(tokens) and tokens[i + 1].token_type == TokenType.DOT:
        i += 2
    if i >= len(tokens):
        raise Refusal("this is not SQL as Postgres would read it", ground=Ground.SYNTAX)
    quoted = tokens[i].token_type == TokenType.IDENTIFIER
    words = (tokens[i].text,) if quoted else tuple(tokens[i].text.lower().split())
    i = _size_end(tokens, i + 1)
    while not quoted and i < len(tokens) and (*words, *tokens[i].text.lower().split()) in _STARTS:
        words = (*words, *tokens[i].text.lower().split())
        i = _size_end(tokens, i + 1)
    name = f'"{words[0]}"' if quoted else _WORDS.get(words, " ".join(words))
    array = ""
    while i < len(tokens) and tokens[i].token_type == TokenType.L_BRACKET:
        while i < len(tokens) and tokens[i].token_type != TokenType.R_BRACKET:
            i += 1
        i, array = i + 1, "[]"
    return i, name.replace('"', "'") + array


def _size_end(tokens: list[Token], i: int) -> int:
    """Past (10) or (10, 2) after a type."""
    if i < len(tokens) and tokens[i].token_type == TokenType.L_PAREN:
        while i < len(tokens) and tokens[i].token_type != TokenType.R_PAREN:
            i += 1
        i += 1
    return i


def folded(identifier: exp.Expr | None) -> str:
    """A name as Postgres keeps it: in lower case unless it is quoted."""
    if not isinstance(identifier, exp.Identifier):
        return ""
    return identifier.name if identifier.args.get("quoted") else identifier.name.lower()


def relation(table: exp.Table) -> CatalogueRelation | None:
    """The relation of the catalogue that a table names, if it does."""
    schema = folded(table.args.get("db")) or CATALOGUE
    return facts().relations.get((schema, folded(table.this)))
