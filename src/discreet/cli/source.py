"""Where rows come from: a file, or a table of a release, which is checked first."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import Refusal

_CERTIFICATE = "certificate.json"  # as discreet.release.folder has it, which is imported for releases alone


def rows_from(source: str, *, public: bool) -> str:
    """The file of a source. What a release holds is nobody's, and is what its publisher's ledger knows."""
    path = Path(source)
    folder, table = (path, None) if path.is_dir() else (path.parent, path.name)
    if not path.exists() or not (folder / _CERTIFICATE).is_file():
        return source
    from discreet.release.folder import checked, read

    if not public:
        raise Refusal(
            f"{source!r} is a release: its rows are cells, and nobody's", hint="add it with --public and without a unit"
        )
    checked(folder)
    tables = sorted(name for name in read(folder)[1].files if name.endswith(".parquet"))
    if table is None and len(tables) > 1:
        named = ", ".join(str(folder / name) for name in tables)
        raise Refusal(f"the release in {source!r} has {len(tables)} tables", hint=f"name one of them: {named}")
    if table is not None and table not in tables:
        raise Refusal(f"{table!r} is no table of the release it lies in", hint=f"there are {tables}")
    return str(folder / (table or tables[0]))
