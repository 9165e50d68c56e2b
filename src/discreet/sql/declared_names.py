"""Names as they were declared: what a question writes without quotes finds them in upper and lower case alike.

After it every name of a table or column that is there is in quotes and spelled as its declaration spells it. A name in
quotes means what it says. One without is looked up without regard to case, the same spelling first; two that differ in
nothing else are not guessed between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.declared.table import Schema, Table, chosen, fold
from discreet.errors import Ground, Refusal
from discreet.sql.render import quoted

Columns = tuple[str, ...]


@dataclass
class SourceNames:
    """What stands in a FROM clause: its columns, and the one that nobody wrote but a link brought along."""

    columns: Columns
    hidden: str | None = None


@dataclass
class Scope:
    """What the names in one SELECT can mean; outside it, what they mean in the queries around it."""

    sources: dict[str, SourceNames]
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
        return quoted(name) if alias is None or alias.startswith("#") else f"{alias}.{quoted(name)}"

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
        could = [quoted(each) if scope is None else scope.written(each) for each in alike]
        raise Refusal(
            f"{name.name} could mean {' or '.join(could)}",
            hint="write the one that you mean in quotes",
            ground=Ground.COLUMN,
        )
    return alike[0] if alike else None


def there(name: exp.Identifier, names: Collection[str]) -> str:
    """What could have been meant."""
    if name.args.get("quoted") and (other := chosen(name.name, names)) is not None:
        return f"a name in quotes is spelled exactly: {quoted(other)}"
    return "see discreet tables"  # and not which there are: who may not ask about a table is not told its columns


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


def spelled(tree: exp.Query, schema: Schema) -> None:
    """Put every name of the question into its declared spelling, in place."""
    _Speller(schema).query(tree, {}, None)


@dataclass(frozen=True)
class _Speller:
    """A walk from the outside in; `known` are the queries of WITH that were met, wherever they stand."""

    schema: Schema
    known: set[str] = field(default_factory=set)

    def query(self, node: exp.Expr, named: Mapping[str, Columns], around: Scope | None) -> Columns:
        """The names of a query's columns."""
        named = dict(named)
        with_ = node.args.get("with_")
        for cte in with_.expressions if with_ else ():
            columns = self.query(cte.this, named, around)
            named[self._new_name(cte)] = _renamed(cte, columns)
        if isinstance(node, exp.Select):
            return self._select(node, named, around)
        if isinstance(node, exp.SetOperation):
            names = self.query(node.this, named, around)
            self.query(node.expression, named, around)
        elif isinstance(node.this, exp.Query):
            names = self.query(node.this, named, around)
        else:
            return ()
        self._ordered(node, Scope({}, around, outputs=names), named)
        return names

    def _new_name(self, cte: exp.Expr) -> str:
        name = own(cte.args["alias"].this)
        if fold(name) in {fold(other) for other in (*self.schema.tables, *self.known)}:
            raise Refusal(f"WITH gives the name {name!r} a second meaning", hint="use another name")
        self.known.add(name)
        return name

    # one SELECT ------------------------------------------------------------------------------------------------------

    def _select(self, select: exp.Select, named: Mapping[str, Columns], around: Scope | None) -> Columns:
        scope = Scope({}, around)
        from_, joins = select.args.get("from_"), select.args.get("joins") or []
        if from_ is not None:
            self._source(from_.this, named, scope)
        for join in joins:
            before = dict(scope.sources)
            self._source(join.this, named, scope)
            _using(join, before, scope)
        scope.aliases = tuple(own(item.args["alias"]) for item in select.expressions if isinstance(item, exp.Alias))
        for clause in ("expressions", "joins", "where", "group", "having", "qualify", "distinct"):
            for part in _listed(select.args.get(clause)):
                inner = part.args.get("on") if isinstance(part, exp.Join) else part
                self._names(inner, scope, named, early=clause in ("expressions", "joins", "where"))
        _without_hidden(select, scope)
        scope.outputs = tuple(_outputs(select, scope))
        self._ordered(select, scope, named)
        if around is not None or select.parent is not None or select.args.get("order"):
            _tell_apart(scope.outputs)
        return scope.outputs

    def _source(self, node: exp.Expr, named: Mapping[str, Columns], scope: Scope) -> None:
        alias = node.args.get("alias")
        if alias is not None and alias.this is not None:
            own(alias.this)
            alias.this.meta.clear()  # its copies will stand before columns, and would say that these are there
            alias.this.meta["given"] = True
        source = SourceNames(())
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            source = self._table(node.this, named)
            if alias is None:  # else one would be made up for it, in small letters
                node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
        elif isinstance(node, exp.Subquery):
            source = SourceNames(self.query(node, named, scope.around))
        source.columns = _renamed(node, source.columns)
        scope.sources[node.alias_or_name or f"#{len(scope.sources)}"] = source
        for join in node.args.get("joins") or []:
            self._source(join.this, named, scope)

    def _table(self, name: exp.Identifier, named: Mapping[str, Columns]) -> SourceNames:
        cte = match(name, named)
        if cte is not None:
            respell(name, cte)
            return SourceNames(named[cte])
        table = self.schema.tables.get(match(name, self.schema.tables) or "")
        if table is None:
            table = _refused_table(name, self.schema)
        respell(name, table.name)
        return SourceNames(
            tuple(column.name for column in table.columns), table.unit if table.link is not None else None
        )

    # names -----------------------------------------------------------------------------------------------------------

    def _names(
        self,
        node: exp.Expr | None,
        scope: Scope,
        named: Mapping[str, Columns],
        *,
        first: bool = False,
        early: bool = False,
    ) -> None:
        """Respell what an expression names. `first` and `early` say which names go before others: see `column`."""
        if node is None:
            return
        if isinstance(node, exp.Query):
            self.query(node, named, scope)
        elif isinstance(node, exp.Column):
            column(node, scope, first=first, early=early)
        else:
            first = first and not isinstance(node, exp.AggFunc)  # which aggregates rows, and so names theirs
            for child in list(node.iter_expressions()):
                self._names(child, scope, named, first=first, early=early)

    def _ordered(self, node: exp.Expr, scope: Scope, named: Mapping[str, Columns]) -> None:
        """A name alone is first one of the answer; inside an expression, as Postgres has it, one of the rows."""
        for ordered in node.args["order"].expressions if node.args.get("order") else ():
            alone = isinstance(ordered.this, exp.Column) or not scope.sources
            self._names(ordered, scope, named, first=alone)
            for each in () if alone else list(ordered.find_all(exp.Column)):
                holding = [alias for alias, source in scope.sources.items() if each.name in source.columns]
                if not each.table and len(holding) == 1 and each.find_ancestor(exp.Query) is node:
                    each.set("table", exp.to_identifier(holding[0], quoted=True))


def _refused_table(name: exp.Identifier, schema: Schema) -> Table:
    if name.args.get("quoted") and chosen(name.name, schema.tables) is not None:
        raise Refusal(
            f'there is no table "{name.name}"',
            hint=f"a name in quotes is spelled exactly: {quoted(chosen(name.name, schema.tables) or '')}",
            ground=Ground.TABLE,
        )
    return schema.table(name.name)


def _renamed(node: exp.Expr, columns: Columns) -> Columns:
    """The columns under the names that an alias gives them: t(a, b)."""
    alias = node.args.get("alias")
    given = [own(name) for name in alias.columns] if isinstance(alias, exp.TableAlias) else []
    return (*given, *columns[len(given) :])


def _listed(value: object) -> list[exp.Expr]:
    return [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, exp.Expr)]


def _using(join: exp.Join, before: Mapping[str, SourceNames], scope: Scope) -> None:
    """USING names a column of both sides. Where they spell it in two ways, it is written out as ON."""
    (alias,) = [alias for alias in scope.sources if alias not in before][:1] or [""]
    if join.method == "NATURAL":
        there_before = dict.fromkeys(name for source in before.values() for name in source.columns)
        _tell_apart((*there_before, *scope.sources[alias].columns))
    apart: list[exp.Expr] = []
    for name in list(join.args.get("using") or []):
        left = match(name, [column for source in before.values() for column in source.columns])
        right = match(name, scope.sources[alias].columns) if alias else None
        if left is None or right is None:
            continue  # which is told when the join is taken apart
        if left == right:
            respell(name, left)
            scope.using.add(left)
            continue
        owner = next(each for each, source in before.items() if left in source.columns)
        scope.merged[fold(left)] = owner, left
        apart.append(
            exp.EQ(
                this=exp.column(left, table=owner, quoted=True), expression=exp.column(right, table=alias, quoted=True)
            )
        )
        join.set("using", [each for each in join.args["using"] if each is not name])
    if apart:
        if join.args.get("using") or join.side in ("RIGHT", "FULL"):
            raise Refusal(f"{apart[0].expression.name!r} is spelled in two ways", hint="write the join with ON")
        join.set("using", None)
        join.set("on", exp.and_(*apart, copy=False))


def _without_hidden(select: exp.Select, scope: Scope) -> None:
    """Write stars out where they would bring the unit of a link beside another column of that name."""
    every = scope.every()
    if not any(source.hidden is not None and every.count(source.hidden) > 1 for source in scope.sources.values()):
        return
    stars = [_star(item, scope) for item in select.expressions]
    plain = {name for star in stars for alias, name in star or () if scope.sources[alias].hidden != name}
    plain |= {item.output_name for item, star in zip(select.expressions, stars, strict=True) if star is None}
    shown: set[str] = set()
    items: list[exp.Expr] = []
    for item, star in zip(select.expressions, stars, strict=True):
        items += [item] if star is None else []
        for alias, name in star or ():
            hidden = scope.sources[alias].hidden == name
            if (hidden and name in plain | shown) or (name in shown & scope.using):
                continue
            shown.add(name)
            items.append(exp.column(name, table=None if name in scope.using else alias, quoted=True))
    select.set("expressions", items)


def _star(item: exp.Expr, scope: Scope) -> list[tuple[str, str]] | None:
    """The sources and columns that a star stands for; None of anything else."""
    if isinstance(item, exp.Star):
        return [(alias, name) for alias, source in scope.sources.items() for name in source.columns]
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star) and item.table in scope.sources:
        return [(item.table, name) for name in scope.sources[item.table].columns]
    return None


def _outputs(select: exp.Select, scope: Scope) -> Iterator[str]:
    for place, item in enumerate(select.expressions):
        star = _star(item, scope)
        yield from [item.output_name or f"_col_{place}"] if star is None else [name for _, name in star]


def _tell_apart(names: Columns) -> None:
    """Refuse columns that are alike but for case where they are read again: an engine does not tell them apart."""
    spelling: dict[str, str] = {}
    for name in names:
        if spelling.setdefault(fold(name), name) != name:
            raise Refusal(
                f"two columns are called {spelling[fold(name)]!r} and {name!r}, the same but for upper and lower case",
                hint="give one of them another name with AS",
            )
