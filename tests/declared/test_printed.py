"""What a custodian reads who prints a table."""

from __future__ import annotations

from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Table


def test_a_table_is_printed_with_its_owners_and_its_columns() -> None:
    columns = (
        Column("Patient Id", Type.VARCHAR),
        Column("Day", Type.DATE, bounds=(0, 31)),
        Column("Cost EUR", bounds=(0, 1000)),
        Column("ward", keys=["north", "south"]),
    )
    told = str(Table("Visits", columns, "patients", "Patient Id", 10))
    assert told.splitlines() == [
        "Visits (population patients, each row of Patient Id, at most 10 rows of one)",
        "  Patient Id varchar",
        "  Day date, 1970-01-01 to 1970-02-01",
        "  Cost EUR double, 0 to 1000",
        "  ward varchar, 2 keys",
    ]
    assert str(Table("wards", columns[3:])) == "wards (public)\n  ward varchar, 2 keys"
    assert "each row its own unit" in str(Table("visits", columns[3:], "visits"))
