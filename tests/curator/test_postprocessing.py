"""SQL above the noise sees the noisy tables of its question and nothing else of this machine."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from discreet.curator import postprocessing


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{}')",
        "SELECT * FROM read_text('{}')",
        "SELECT * FROM '{}'",
        "COPY (SELECT 1) TO '{}'",
        "ATTACH '{}'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
    ],
)
def test_no_file_is_reached(tmp_path: Path, sql: str) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("who\nann\n", encoding="utf-8")
    database = postprocessing._opened()
    with pytest.raises((duckdb.PermissionException, duckdb.InvalidInputException, duckdb.CatalogException)):
        database.execute(sql.format(file))
    database.close()
    assert file.read_text(encoding="utf-8") == "who\nann\n"
