"""What somebody wants published, as plain values: what flags, a form or a request body can say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from discreet.declared.table import check_caps, chosen
from discreet.errors import Refusal
from discreet.exact import Number, count, positive, share, shown
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.registry import Plain
from discreet.release.bins import Cut, read_cut, written
from discreet.release.method import KINDS, MARGINALS, methods
from discreet.release.other_cell import IN_OTHER, read_rule


@dataclass(frozen=True)
class Wish:
    """A publication that somebody asks for. Everything is checked that can be without knowing the table.

    `kind` is histogram, ranges or marginals. The price is either `epsilon`, for marginals perhaps with `delta`, or
    `rho`; prices are kept as exact text. `bins` says for a column of numbers how it is cut: a number of bins, a text
    `lower:upper:width`, edges as `0,18,65`, `private` or `private:20`; or the numbers themselves in a list. Marginals
    are all tables of `ways` columns, two if nobody says, or the `tables` that are named. `max_rows` is how many rows of
    one unit count, by default as declared. `outside` says what becomes of rows that are in no cell of a column: in
    marginals they are counted in a cell `other` of it, or, with 'leave out', left out of all tables alike. A histogram
    and ranges are one table, which leaves them out.
    """

    kind: str
    columns: tuple[str, ...] = ()
    epsilon: Number | None = None
    rho: Number | None = None
    delta: Number | None = None
    method: str | None = None
    bins: Mapping[str, object] = field(default_factory=dict, hash=False)
    ways: int | None = None
    tables: tuple[tuple[str, ...], ...] = ()
    max_rows: int | None = None
    outside: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise Refusal(f"expected kind as one of {list(KINDS)}, got kind={shown(self.kind)}")
        tables = tuple(_named(table, "a table") for table in _listed(self.tables, "tables"))
        named = tuple(dict.fromkeys(name for table in tables for name in table))
        columns = _named(self.columns, "columns") or named
        if not columns or len(set(columns)) < len(columns):
            raise Refusal(f"expected different columns, at least one, got columns={shown(list(columns))}")
        settle(
            self,
            columns=columns,
            tables=tables,
            epsilon=None if self.epsilon is None else written(positive(self.epsilon, "epsilon")),
            rho=None if self.rho is None else written(positive(self.rho, "rho")),
            delta=None if self.delta is None else written(share(self.delta, "delta")),
            bins=self._cut(columns),
            ways=None if self.ways is None else count(self.ways, "ways"),
            max_rows=None if self.max_rows is None else count(self.max_rows, "max_rows"),
            outside=None if self.outside is None else read_rule(self.outside),
        )
        check_caps(self.max_rows, 1)
        self._refuse_prices()
        self._refuse_ways()
        if self.method is not None and self.method not in methods(self.kind):
            known = list(methods(self.kind))
            raise Refusal(f"there is no method {shown(self.method)} for {self.kind}", hint=f"take one of {known}")

    @classmethod
    def read(cls, given: object) -> Wish:
        """The wish that a mapping holds, whoever wrote it."""
        if not isinstance(given, Mapping):
            raise Refusal(f"expected a publication as a mapping of its parts, got {shown(given)}")
        known = [part.name for part in fields(cls)]
        unknown = [name for name in given if name not in known]
        if unknown:
            raise Refusal(f"a publication has no part {shown(unknown)}", hint=f"it has {known}")
        if "kind" not in given:
            raise Refusal("a publication needs its kind", hint=f"one of {list(KINDS)}")
        return cls(**{name: value for name, value in given.items() if value is not None})

    def told(self) -> dict[str, Plain]:
        """The wish as plain values that `read` takes back; what was not said is left out."""
        said: dict[str, Plain] = {"kind": self.kind, "columns": list(self.columns)}
        for name in ("epsilon", "rho", "delta", "method", "ways", "max_rows", "outside"):
            if getattr(self, name) is not None:
                said[name] = getattr(self, name)
        if self.bins:
            said["bins"] = {name: cut.plain for name, cut in self.cuts.items()}
        if self.tables:
            said["tables"] = [list(table) for table in self.tables]
        return said

    def spelled(self, names: Iterable[str]) -> Wish:
        """The same wish, its columns spelled as those of a table are; what is not there stays as it is."""
        known = tuple(names)
        spelling = {name: chosen(name, known) or name for name in self.columns}
        return replace(
            self,
            columns=tuple(spelling.values()),
            bins={spelling[name]: cut for name, cut in self.bins.items()},
            tables=tuple(tuple(spelling.get(name, name) for name in table) for table in self.tables),
        )

    @property
    def cuts(self) -> dict[str, Cut]:
        """How columns of numbers are to be cut."""
        return {name: read_cut(value, name) for name, value in self.bins.items()}

    def _cut(self, columns: tuple[str, ...]) -> dict[str, object]:
        """Bins by column, in the plainest form."""
        if not isinstance(self.bins, Mapping):
            raise Refusal(f"expected bins by column, got bins={shown(self.bins)}")
        given = {chosen(str(name), columns) or str(name): value for name, value in self.bins.items()}
        for name in given:
            if name not in columns:
                hint = f"the columns are {shown(list(columns))}"
                raise Refusal(f"bins are given for {shown(name)}, which is not published", hint=hint)
        return {name: read_cut(value, name).plain for name, value in given.items()}

    def _refuse_prices(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            given = "both" if self.rho is not None else "neither"
            raise Refusal(f"a publication names one of epsilon and rho, got {given}", hint="say epsilon='1', for one")
        if self.delta is not None and (self.kind != MARGINALS or self.rho is not None or self.method == "fourier"):
            raise Refusal(
                f"delta={self.delta} has no meaning for this {self.kind}: it promises without one",
                hint="leave it out; it belongs to epsilon and to marginals with Gaussian noise",
            )
        if self.method == "residual" and self.rho is None and self.delta is None:
            raise Refusal(
                "residual marginals have Gaussian noise, which needs a delta beside epsilon",
                hint="say delta='1e-9', or rho instead of epsilon, or take the method fourier",
            )

    def _refuse_ways(self) -> None:
        if self.kind != MARGINALS and (self.ways is not None or self.tables):
            raise Refusal(f"ways and tables are for marginals, and this is a {self.kind}", hint="leave them out")
        if self.ways is not None and self.tables:
            raise Refusal("the tables of marginals are named, or all of so many columns, not both")
        if self.ways is not None and self.ways > len(self.columns):
            raise Refusal(f"there are {len(self.columns)} columns, and tables of {shown(self.ways)} were asked for")
        if self.kind != MARGINALS and self.outside == IN_OTHER:
            raise Refusal(
                f"{self.kind} has no cell for other values: rows that are in none are left out",
                hint="leave outside out, or publish marginals",
            )


def _listed(value: object, name: str) -> tuple[object, ...]:
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        return tuple(value)
    raise Refusal(f"expected {name} as a list, got {name}={shown(value)}")


def _named(value: object, name: str) -> tuple[str, ...]:
    found = _listed(value, name)
    names = tuple(one for one in found if isinstance(one, str) and one)
    if len(names) < len(found) or len(set(names)) < len(names):
        raise Refusal(f"expected {name} as different names of columns, got {shown(value)}")
    return names
