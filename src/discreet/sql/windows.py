"""Windows with a name, written out where they are used: everything after this knows only plain ones."""

from __future__ import annotations

from sqlglot import exp

from discreet.declared.table import fold
from discreet.errors import Refusal
from discreet.sql.source_words import shown

_HINT = "write the window after OVER"


def unnamed(tree: exp.Query) -> None:
    """Write the windows of every WINDOW clause out, in place, and drop the clauses."""
    for select in tree.find_all(exp.Select):
        named: dict[str, exp.Window] = {}
        for window in select.args.get("windows") or []:
            _complete(window, named)
            if _spelled(window.this) in named:
                raise Refusal(f"two windows are called {window.this.name!r}", hint=_HINT)
            named[_spelled(window.this)] = window
        select.set("windows", None)
        for window in select.find_all(exp.Window):
            if window.find_ancestor(exp.Select) is select:
                _complete(window, named)


def _complete(window: exp.Window, named: dict[str, exp.Window]) -> None:
    """Give a window what the one has that it names."""
    name = window.args.get("alias")
    if name is None:
        return
    base = named.get(_spelled(name))
    if base is None:
        raise Refusal(f"there is no window {name.name!r} in this SELECT", hint=_HINT)
    own = [clause for clause in ("partition_by", "order", "spec") if window.args.get(clause)]
    twice = "order" in own and base.args.get("order")
    if "partition_by" in own or twice or (own and base.args.get("spec")):  # as Postgres has it
        raise Refusal(f"{shown(window)} changes what the window {name.name!r} says", hint=_HINT)
    window.set("alias", None)
    for clause in ("partition_by", "order", "spec"):
        given = base.args.get(clause)
        if given:
            window.set(clause, [each.copy() for each in given] if isinstance(given, list) else given.copy())


def _spelled(name: exp.Identifier) -> str:
    return name.name if name.args.get("quoted") else fold(name.name)
