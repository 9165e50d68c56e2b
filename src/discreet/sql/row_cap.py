"""Which rows of a unit count where it has too many, as SQL: chosen by what its own rows and a secret salt say.

A digest is made of a row's owner, of what it says, and of its number among those of that owner that say the same. Rows
that say the same are interchangeable, so it does not matter which of them has which number, and no two rows of a unit
have all three in common: those with the smallest digests are a uniform sample without replacement, and a function of
the unit's own rows (as a multiset) and the salt. Nothing else has a say in it, neither other units nor an engine's
order of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.sql.owned_rows import Filter, Project, Rows, Scan, scanned

_COPY = '"#copy"'  # no column can be called so: the number of a row among those that say the same


@dataclass(frozen=True)
class Room:
    """How many bytes the texts of a unit's rows may have together."""

    names: tuple[str, ...]
    letters: int

    @property
    def text(self) -> str:
        """The bytes of one row's texts."""
        return " + ".join(f"coalesce(strlen({name}), 0)" for name in self.names)


@dataclass(frozen=True)
class Choice:
    """How rows of a relation are chosen: by the column of their owner, those that say something, and a secret salt."""

    tree: Rows
    names: tuple[str, ...]
    salt: int
    unit: str = "u"
    costly: bool = False  # whether the rows are computed once for a second look, whatever they are made of

    def digest(self, names: Sequence[str]) -> str:
        """A salted hash of columns of a unit. A row that is its own unit has no name, only a place: it is left out."""
        nameless = any(not table.public and table.unit is None for table in scanned(self.tree))
        owner = [] if nameless else [self.unit]
        return f"hash(hash({', '.join([*owner, *names, f'CAST({self.salt} AS UBIGINT)'])}))"

    def fewer(self, source: str, cap: int, room: Room | None = None) -> str:
        """At most so many rows of each unit of a source, and no more text in them than there is room for."""
        alike = ", ".join([self.unit, *self.names])
        numbered = f"SELECT *, row_number() OVER (PARTITION BY {alike}) AS {_COPY} FROM ({source})"
        order = ", ".join([self.digest([*self.names, _COPY]), *self.names, _COPY])
        over = f"OVER (PARTITION BY {self.unit} ORDER BY {order}"
        test = f"row_number() {over}) <= {cap}"
        if room is not None:
            test += f" AND sum({room.text}) {over} ROWS UNBOUNDED PRECEDING) <= {room.letters}"
        return f"SELECT * EXCLUDE ({_COPY}) FROM ({numbered}) QUALIFY {test}"

    def named(self, name: str, source: str) -> str:
        """A source under a name, for WITH: kept for a second look if it is costly."""
        again = "MATERIALIZED" if self.costly or not is_plain(self.tree) else "NOT MATERIALIZED"
        return f"{name} AS {again} ({source})"

    def apart(self, source: str, cap: int, room: Room | None = None) -> tuple[str, str, str]:
        """A list for WITH; the rows of units that have no more than they may; those of the others that are chosen."""
        unit = self.unit
        beyond = f"count(*) > {cap}" + ("" if room is None else f" OR sum({room.text}) > {room.letters}")
        many = f"many AS MATERIALIZED (SELECT {unit} FROM every GROUP BY {unit} HAVING {beyond})"
        within = f"SELECT * FROM every ANTI JOIN many USING ({unit})"
        chosen = self.fewer(f"SELECT every.* FROM every SEMI JOIN many USING ({unit})", cap, room)
        return f"WITH {self.named('every', source)}, {many}", within, chosen

    def capped(self, source: str, cap: int, room: Room | None = None) -> str:
        """A source with at most so many rows of each unit. Only units that have more are looked at closely."""
        first, within, chosen = self.apart(source, cap, room)
        return f"{first} {within} UNION ALL {chosen}"


def is_plain(tree: Rows) -> bool:
    """Whether rows are read twice as cheaply as they are kept."""
    match tree:
        case Scan():
            return True
        case Filter() | Project():
            return is_plain(tree.source)
        case _:
            return False
