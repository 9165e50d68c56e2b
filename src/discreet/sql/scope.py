"""What the names in one SELECT can mean, and what one of them does mean."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.declared.table import chosen, fold
from discreet.errors import Ground, Refusal

Columns = tuple[str, ...]


@dataclass
class Source:
    """What stands in a FROM clause: its columns, and the one that nobody wrote but a link brought along."""

    columns: Columns
    hidden: str | None = None


@dataclass
class Scope:
    """What the names in one SELECT can mean; outside it, what they mean in the queries around it."""

    sources: dict[str, Source]
    around: Scope | None
    using: set[str] = field(default_factory=set)  # columns that USING made one of two
    merged: dict[str, tuple[str, str]] = field(default_factory=dict)  # where two spellings did: source and column
    aliases: Columns = ()
    outputs: Columns = ()

    def every(self) -> Columns:
        """The columns of all sources."""
        return tuple(name for source in self.sources.values() for name in source.columns)

    def written(self, name: str) -> str:
        """A column, with its source before it if it has one."""
        alias = next((alias for alias, source in self.sources.items() if name in source.columns), None)
        return written(name) if alias is None or alias.startswith("#") else f"{alias}.{written(name)}"

    def owner(self, name: str) -> str | None:
        """The one source that a bare name means where it is hidden in all others; None where nothing is to be said."""
        if name in self.using:
            return None
        holding = [alias for alias, source in self.sources.items() if name in source.columns]
        shown = [alias for alias in holding if self.sources[alias].hidden != name]
        return shown[0] if len(holding) > 1 and len(shown) == 1 else None


def match(name: exp.Identifier, names: Iterable[str], scope: Scope | None = None) -> str | None:
    """The one of some names that an identifier means; None if it means none of them."""
    names = dict.fromkeys(names)
    if name.name in names:
        return str(name.name)
    if name.args.get("quoted"):
        return None
    alike = [each for each in names if fold(each) == fold(name.name)]
    if len(alike) > 1:
        could = [written(each) if scope is None else scope.written(each) for each in alike]
        raise Refusal(
            f"{name.name} could mean {' or '.join(could)}",
            hint="write the one that you mean in quotes",
            ground=Ground.COLUMN,
        )
    return alike[0] if alike else None


def there(name: exp.Identifier, names: Collection[str]) -> str:
    """What could have been meant."""
    if name.args.get("quoted") and (other := chosen(name.name, names)) is not None:
        return f"a name in quotes is spelled exactly: {written(other)}"
    return "see discreet tables"  # and not which there are: who may not ask about a table is not told its columns


def written(name: str) -> str:
    """A name in quotes, as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def respell(name: exp.Identifier, text: str) -> None:
    """An identifier in its declared spelling."""
    name.set("this", text)
    name.set("quoted", True)  # noqa: FBT003  # sqlglot's own


def own(name: exp.Expr) -> str:
    """A name that the question itself gives: in small letters, as Postgres has it, unless it stands in quotes."""
    if isinstance(name, exp.Identifier) and name.name:
        respell(name, name.name if name.args.get("quoted") else name.name.lower())
    return str(name.name)


def _place(node: exp.Column, alias: str, name: str) -> None:
    respell(node.this, name)
    node.set("table", exp.to_identifier(alias, quoted=True))


def column(node: exp.Column, scope: Scope, *, first: bool, early: bool = False) -> None:
    """Spell a column as what it means. `first` says that names of the answer go before those of the rows.

    `early` says that the answer is not there yet: what a query around this one calls so goes before an alias.
    """
    if node.args.get("table") is not None:
        _qualified(node, scope)
        return
    if not isinstance(node.this, exp.Identifier):
        return  # a star
    if early and match(node.this, scope.every(), scope) is None and _outside(node, scope):
        return
    around: Scope | None = scope
    while around is not None:
        kinds = [around.every(), around.aliases]
        for names in [around.outputs, *kinds] if first else kinds:
            name = match(node.this, names, around)
            if name is None:
                continue
            merged = around.merged.get(fold(name))
            if merged is not None and names is kinds[0]:
                _place(node, *merged)
            elif names is kinds[0] and (owner := around.owner(name)) is not None:
                _place(node, owner, name)
            else:
                respell(node.this, name)
            return
        around, first = around.around, False
    raise Refusal(f"there is no column {node.name!r}", hint=there(node.this, scope.every()), ground=Ground.COLUMN)


def _outside(node: exp.Column, scope: Scope) -> bool:
    """Place a name that is an alias here, and a column of one source of a query around this one, at that source."""
    if match(node.this, scope.aliases) is None:
        return False
    around = scope.around
    while around is not None:
        name = match(node.this, around.every(), around)
        if name is not None:
            holding = [alias for alias, source in around.sources.items() if name in source.columns]
            owner = around.owner(name) or holding[0]
            unclear = len(holding) > 1 and around.owner(name) is None and name not in around.using
            if unclear or owner.startswith("#"):
                return False
            _place(node, owner, name)
            return True
        around = around.around
    return False


def _qualified(node: exp.Column, scope: Scope) -> None:
    around: Scope | None = scope
    while around is not None:
        alias = match(node.args["table"], around.sources)
        if alias is None:
            around = around.around
            continue
        respell(node.args["table"], alias)
        columns = around.sources[alias].columns
        if not isinstance(node.this, exp.Identifier):
            return
        name = match(node.this, columns)
        if name is None:
            raise Refusal(
                f"{alias!r} has no column {node.name!r}", hint=there(node.this, columns), ground=Ground.COLUMN
            )
        respell(node.this, name)
        return
    raise Refusal(
        f"there is no table {node.table!r} in this FROM",
        hint=f"it has {[alias for alias in scope.sources if not alias.startswith('#')]}",
        ground=Ground.TABLE,
    )
