"""Names of tables and columns: upper and lower case matter only where two names differ in nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from discreet.errors import Refusal

RESERVED = "#"  # names that begin so are ours


def fold(name: str) -> str:
    """A name without regard to upper and lower case."""
    return name.casefold()


def chosen(name: str, names: Iterable[str]) -> str | None:
    """The one of some names that is meant: the same one, or the only one that is alike but for case; else none."""
    names = tuple(names)
    if name in names:
        return name
    alike = [each for each in names if fold(each) == fold(name)]
    return alike[0] if len(alike) == 1 else None


def distinct_names(names: Sequence[str]) -> None:
    """Refuse two columns that an engine would take for one: it does not tell upper from lower case."""
    seen: dict[str, str] = {}
    for name in names:
        if not name:
            raise Refusal("a column has no name", hint="give it one with AS")
        other = seen.setdefault(fold(name), name)
        if other != name:
            raise Refusal(
                f"two columns are called {other!r} and {name!r}, the same but for upper and lower case",
                hint="rename one of them",
            )
    if len(seen) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise Refusal(f"two columns are called {twice!r}", hint="rename one of them")
