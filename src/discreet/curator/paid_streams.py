"""The streams that were bought, as who declares tables must know them: their names, and whose rows they take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from discreet.curator.catalogue import Catalogue, type_of
from discreet.curator.declarations import Declared
from discreet.declared.group_key import Type
from discreet.declared.table import Table
from discreet.errors import Refusal
from discreet.ledger import Spend, SqliteLedger
from discreet.ledger.entry_kinds import Plain, stream_name
from discreet.stream.declaration import StreamDeclaration


def paid_streams(ledger: SqliteLedger) -> dict[str, StreamDeclaration]:
    """What was declared of each stream that was ever opened."""
    with ledger.looked_at() as view:
        spends = [entry.event for entry, _ in view.sessions()]
    named = {stream_name(spend): spend for spend in spends if isinstance(spend, Spend) and stream_name(spend)}
    return {
        name: StreamDeclaration.read(name, cast("dict[str, Mapping[str, Plain]]", spend.what)["rows"])
        for name, spend in named.items()
    }


def stream_columns(
    said: Declared, types: Mapping[str, str], known: Catalogue, streams: Mapping[str, StreamDeclaration]
) -> dict[str, Type]:
    """The columns of a stream's rows and their types: a unit's as in its population, text where nobody said more."""
    columns: dict[str, Type] = {}
    if said.unit not in (None, "row"):
        columns[said.unit] = _unit_type(said.population or said.unit, known, streams)
    columns |= dict.fromkeys(said.keys, Type.VARCHAR) | dict.fromkeys(said.bounds, Type.DOUBLE)
    if len(columns) < (said.unit != "row") + len(said.keys) + len(said.bounds):
        raise Refusal("a stream's unit, keys and sums are columns of their own", hint="name another column")
    for name, kind in types.items():
        if name not in columns:
            raise Refusal(f"a stream has no use for a column {name!r}", hint=f"it reads {list(columns)}")
        columns[name] = type_of(kind, name)
    return columns


def _unit_type(people: str, known: Catalogue, streams: Mapping[str, StreamDeclaration]) -> Type:
    theirs = [table for table in known.tables.values() if table.population == people and table.unit is not None]
    theirs += [each.table for each in streams.values() if each.table.population == people and each.table.unit]
    kinds = [table.column(table.unit).type for table in theirs if table.unit is not None]
    return kinds[0] if kinds else Type.VARCHAR


def refuse_other_units(table: Table, people: str, streams: Mapping[str, StreamDeclaration]) -> None:
    """One person has one name in all tables and streams of a population, and rows that own themselves share nothing."""
    for name, stream in streams.items():
        if stream.table.population != people:
            continue
        if stream.table.unit is None or table.unit is None:
            raise Refusal(
                f"rows that are their own unit never share a budget, and stream {name!r} is of {people!r}",
                hint="use another --population",
            )
        if stream.unit_type is not table.column(table.unit).type:
            raise Refusal(
                f"in stream {name!r} the units of {people!r} are {stream.unit_type.value if stream.unit_type else ''}, "
                f"here {table.column(table.unit).type.value}",
                hint=f"say --types so that both are alike, or name another --population than {people!r}",
            )
