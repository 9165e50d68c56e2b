"""A draft declares what was typed, and every refusal belongs to the step at which it can be mended."""

from __future__ import annotations

import math
import shlex
from fractions import Fraction
from pathlib import Path

import clinic
import pytest
from typer.testing import CliRunner

from discreet.cli import tables as commands
from discreet.console.manage_tables import looked
from discreet.console.table_draft import (
    BUDGET,
    COLUMNS,
    FILE,
    OWNER,
    ColumnDraft,
    StepRefusal,
    TableDraft,
    command,
    declared,
    described,
    in_words,
    meaning,
    stages,
    surest,
    table_name,
)
from discreet.curator import catalogue
from discreet.curator.custody import Custody, Declared, found_home
from discreet.curator.source_schema import SourceColumn, source_columns
from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.errors import Refusal

CSV = "person,ward,age,cost\np1,north,34,1.5\np2,south,51,80\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "stays.csv"
    path.write_text(CSV)
    return path


def typed(**changes: object) -> TableDraft:
    kinds = {"person": "varchar", "ward": "varchar", "age": "bigint", "cost": "double"}
    fields = {name: ColumnDraft(SourceColumn(name, None, None), type=kind) for name, kind in kinds.items()}
    fields["ward"].keys = " north \n\nsouth\n"
    fields["age"].low, fields["age"].high, fields["age"].description = "0", "120", "in years, it's whole"
    fields["cost"].low, fields["cost"].high, fields["cost"].step = "0", "99.5", "0.5"
    usual: dict[str, object] = {"file": "stays.csv", "name": "stays", "owner": "unit", "unit": "person", "price": "3"}
    return TableDraft(**{**usual, "fields": list(fields.values()), "max_rows": "9", **changes})  # type: ignore[arg-type]


def blamed(home: Path, file: Path, draft: TableDraft) -> tuple[int, str]:
    """The step that is to blame, and what is said of it."""
    try:
        for step, said in stages(draft):
            try:
                Custody(home).rehearse(draft.name, file, said)
            except Refusal as refusal:
                return step, str(in_words(refusal))
    except StepRefusal as refused:
        return refused.step, str(refused)
    return -1, ""


def test_a_csv_file_has_no_types_until_somebody_says_them(file: Path) -> None:
    fields = described(source_columns(file))
    assert [each.type for each in fields] == [""] * 4
    assert [each.source.proposed for each in fields] == [Type.VARCHAR, Type.VARCHAR, Type.BIGINT, Type.DOUBLE]
    with pytest.raises(Refusal, match="choose a type for person, ward, age, cost"):
        declared(typed(fields=fields))


def test_a_typed_file_has_its_own_types(tmp_path: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    pq.write_table(pa.table({"a": pa.array([1], pa.int32()), "b": [[1]], "c": ["x"]}), tmp_path / "t.parquet")
    assert [each.type for each in described(source_columns(tmp_path / "t.parquet"))] == ["bigint", "", "varchar"]


def test_a_draft_declares_what_was_typed() -> None:
    assert declared(typed()) == Declared(
        unit="person",
        population="person",
        epsilon="3",
        delta="1e-8",
        max_rows=9,
        types={"person": "varchar", "ward": "varchar", "age": "bigint", "cost": "double"},
        bounds={"age": ("0", "120"), "cost": ("0", "99.5")},
        steps={"cost": "0.5"},
        keys={"ward": [" north ", "south"]},
        describe={"age": "in years, it's whole"},
    )
    assert declared(typed(owner="public", max_rows="9", price="3")).public
    assert declared(typed(owner="public")).epsilon is None
    assert declared(typed(shared=True, population="patient")).epsilon is None
    assert declared(typed(measure="rho", delta="0")).rho == "3"


def test_the_command_declares_the_same(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    homes = [tmp_path / "by_page", tmp_path / "by_command"]
    for home in homes:
        found_home(home)
    draft = typed(relation="replace")
    Custody(homes[0]).add("stays", file, declared(draft))
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command(draft).replace("\\\n", " "))
    assert words[:2] == ["discreet", "add"]
    done = CliRunner().invoke(commands.app, [*words[1:], "--home", str(homes[1])])
    assert done.exit_code == 0, done.output
    assert catalogue.read(homes[0]) == catalogue.read(homes[1])


@pytest.mark.parametrize(
    ("changes", "step", "words"),
    [
        ({}, -1, ""),
        ({"name": "no name"}, FILE, "a table is named with letters"),
        ({"name": "visits"}, FILE, "bring new rows with Update rows"),
        ({"owner": ""}, OWNER, "choose whose rows they are"),
        ({"unit": ""}, OWNER, "choose the column"),
        ({"owner": "link", "link_from": "person", "link_to": "visits.nothing"}, OWNER, "the link leads to"),
        ({"owner": "link", "link_from": "age", "link_to": "visits.patient", "link_type": "bigint"}, -1, ""),
        (
            {"owner": "link", "link_from": "ward", "link_to": "visits.patient", "link_type": "bigint"},
            COLUMNS,
            "has another type; choose the types",
        ),
        ({"unit": "cost"}, COLUMNS, "two people could become one in it; choose text as its type"),
        ({"max_rows": "0"}, COLUMNS, "max_rows"),
        ({"max_rows": "1.5"}, COLUMNS, "expected a whole number"),
        ({"price": ""}, BUDGET, "what all answers together may cost"),
        ({"price": "-1"}, BUDGET, "epsilon"),
        ({"delta": "2"}, BUDGET, "delta"),
        ({"population": "patient", "shared": True}, BUDGET, "choose the types so that both are alike"),
    ],
)
def test_a_refusal_belongs_to_the_step_that_can_mend_it(
    tmp_path: Path, file: Path, changes: dict[str, object], step: int, words: str
) -> None:
    home = clinic.home(tmp_path / "home")
    at, said = blamed(home, file, typed(**changes))
    assert at == step
    assert words in said
    assert "--" not in said


@pytest.mark.parametrize(("low", "high"), [("5", "1"), ("x", "1"), ("", "1")])
def test_bounds_that_are_none_are_refused_at_the_columns(tmp_path: Path, file: Path, low: str, high: str) -> None:
    draft = typed()
    draft.fields[2].low, draft.fields[2].high = low, high
    assert blamed(clinic.home(tmp_path / "home"), file, draft)[0] == COLUMNS


def test_a_rehearsal_changes_nothing(tmp_path: Path, file: Path) -> None:
    home = clinic.home(tmp_path / "home")
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    table = Custody(home).rehearse("stays", file, declared(typed()))
    assert (table.name, table.population, table.max_rows) == ("stays", "person", 9)
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_where_a_file_lies_is_not_said() -> None:
    said = in_words(Refusal("'/x/uploads/1/2.csv' is broken", hint="use --what"), "/x/uploads/1/2.csv")
    assert said.message == "'the file' is broken"
    cut = in_words(Refusal("it cannot be read: /x/uploads/1"), "/x/uploads/1/2.csv")
    assert cut.message == "it cannot be read: the file"


def test_a_message_is_cut_after_its_path_is_taken_out(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["quite-a-long-name-of-a-folder"] * 8)
    folder.mkdir(parents=True)
    (folder / "broken.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(Refusal, match="the source cannot be read") as refused:
        looked(folder / "broken.parquet")
    assert "quite-a-long" not in refused.value.message
    assert "the file" in refused.value.message


def test_a_file_with_very_many_columns_is_not_drawn(tmp_path: Path) -> None:
    file = tmp_path / "wide.csv"
    for count in (500, 501):
        file.write_text(",".join(f"c{i}" for i in range(count)) + "\n" + ",".join("1" * count) + "\n")
        if count == 500:
            assert len(looked(file)) == count
    with pytest.raises(Refusal, match="501 columns, and 500") as refused:
        looked(file)
    assert "discreet add" in refused.value.hint


@pytest.mark.parametrize(
    ("file", "name"),
    [("Stays 2024.csv", "stays_2024"), ("2024.parquet", "t_2024"), ("a.b.csv", "a_b"), ("é.csv", ""), ("x", "x")],
)
def test_a_table_is_called_after_its_file(file: str, name: str) -> None:
    assert table_name(file) == name


def test_how_sure_somebody_can_become_is_never_understated() -> None:
    for price in (Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(3)):
        exactly = 100 * math.exp(price) / (1 + math.exp(price))
        assert 0 <= surest(price) - exactly < 1
    assert surest(Fraction(50)) == 99
    assert "at most 96 %" in meaning("3")
    assert "hardly anybody" in meaning("1000")
    assert "as a number" in meaning("much")


@pytest.mark.parametrize(
    ("kind", "typed_in", "declared_as"),
    [
        ("date", "2026-01-31\n 2026-02-01 ", ("2026-01-31", "2026-02-01")),
        ("timestamp", "2026-01-31 12:00", ("2026-01-31 12:00:00",)),
        ("double", "0.50\r\n1", ("0.5", "1")),
        ("bigint", " 3 ", (3,)),
        ("boolean", "yes", (True,)),
        ("varchar", "a \n\n b,c", ("a ", " b,c")),
    ],
)
def test_columns_of_every_type_have_keys_and_texts_are_taken_as_they_stand(
    kind: str, typed_in: str, declared_as: tuple[object, ...]
) -> None:
    field = ColumnDraft(SourceColumn("x", None, None), type=kind, keys=typed_in)
    assert field.keyed
    assert Column("x", Type(kind), keys=tuple(field.listed)).keys == declared_as


@pytest.mark.parametrize("shared", [False, True])
def test_a_price_with_every_question_is_declared_with_a_new_population_alone(*, shared: bool) -> None:
    draft = typed(require_price=True, shared=shared)
    assert declared(draft).require_price is not shared
    assert ("--require-price" in command(draft)) is not shared
    assert not declared(typed()).require_price
    assert "--require-price" not in command(typed())
