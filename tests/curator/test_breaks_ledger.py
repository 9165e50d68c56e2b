"""What a review broke between a home, its ledger and its files, each as it was broken: it must not work again."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import clinic
import pyarrow as pa
import pytest
from clinic import COUNT

from discreet.curator import Curator, postprocessing
from discreet.curator.custody import Custody, Declared, found_home
from discreet.curator.named_run import NamedRun, answered_run
from discreet.errors import OverBudget, Refusal
from discreet.ledger import Account, SqliteLedger
from discreet.mechanisms import Takes
from discreet.privacy import AddRemove, Approximate, Concentrated, Pure

SUM = "SELECT sum(cost) FROM visits"


def account(home: Path, population: str = "patient") -> Account:
    return SqliteLedger(home / "ledger.db").books().account(population)


def size(home: Path) -> int:
    return SqliteLedger(home / "ledger.db").books().size


def edited(home: Path, old: str, new: str) -> None:
    text = (home / "discreet.toml").read_text(encoding="utf-8")
    assert old in text
    (home / "discreet.toml").write_text(text.replace(old, new, 1), encoding="utf-8")


# whose rows, whose budget ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ['public = "false"', 'public = "true"', "public = 1", "public = true", "public = []"])
def test_public_is_true_or_false_and_goes_with_no_unit(home: Path, word: str) -> None:
    edited(home, "[table.visits]\n", f"[table.visits]\n{word}\n")
    with pytest.raises(Refusal, match="public"):
        Curator(home)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('bounds = ["0", "1000"]', "bounds = 5"),
        ('bounds = ["0", "1000"]', 'bounds = ["0"]'),
        ('bounds = ["0", "1000"]', 'bounds = [["0"], "1"]'),
        ('keys = ["north", "south", "east"]', "keys = 5"),
        ('keys = ["north", "south", "east"]', 'keys = [["a"]]'),
        ("max_groups = 50", 'max_groups = "x"'),
        ("max_groups = 50", "max_groups = 1.9"),
        ("max_rows = 50", "max_rows = 3.5"),
        ("max_rows = 50", "max_rows = true"),
        ("version = 1\npopulation", 'version = "x"\npopulation'),
        ("version = 1\npopulation", "version = -7\npopulation"),
        ('population = "patient"', "population = []"),
        ('unit = "patient"', "unit = 3"),
        ('unit = "patient"\n', ""),
        ("[table.visits]", "[table]\nwards = 3\n[table.visits]"),
        ("[population.patient]", "[population]\nx = 1\n[population.patient]"),
        ('relation = "add-remove"', "relation = []"),
        ('relation = "add-remove"', 'relation = "add-remove"\nepsilom = 4'),
        ('type = "double"', 'type = "double"\ndescription = 5'),
        ("version = 1\n", f"version = 1{'0' * 5000}\n"),
    ],
)
def test_junk_in_the_declarations_is_refused(home: Path, old: str, new: str) -> None:
    edited(home, old, new)
    with pytest.raises(Refusal):
        Curator(home)


def test_without_its_ledger_a_home_answers_and_takes_nothing(home: Path) -> None:
    Curator(home).query(COUNT, epsilon=2)
    (home / "ledger.db").unlink()
    with pytest.raises(Refusal, match="no ledger"):
        Curator(home)
    with pytest.raises(Refusal, match="no ledger"):
        Custody(home)
    assert not (home / "ledger.db").exists()
    SqliteLedger(home / "ledger.db")  # an empty one in its place
    with pytest.raises(Refusal, match="rolled back"):
        Curator(home)
    with pytest.raises(Refusal, match="rolled back"):
        Custody(home).add("t2", clinic.visits(3), Declared(unit="patient", epsilon=2, delta="1e-3"))
    assert size(home) == 0


def test_an_older_ledger_under_newer_declarations_is_refused(home: Path) -> None:
    shutil.copy(home / "ledger.db", home / "older")
    Custody(home).update("visits", clinic.visits(5))
    Curator(home).query(COUNT, epsilon=2)
    shutil.copy(home / "older", home / "ledger.db")
    with pytest.raises(Refusal, match="rolled back"):
        Curator(home)
    for change in (lambda: Custody(home).update("visits", clinic.visits(5)), lambda: Custody(home).remove("visits")):
        with pytest.raises(Refusal, match="rolled back"):
            change()


def test_one_table_s_file_does_not_pass_for_another_s(home: Path) -> None:
    Custody(home).add("w", clinic.visits(5), clinic.declared(population="others", epsilon=50))
    Custody(home).add("wards", pa.table({"beds": [1]}), Declared(public=True))
    Curator(home).query(COUNT, epsilon=2)
    for name in ("w", "wards"):
        shutil.copy(home / "tables" / "visits.1.duckdb", home / "tables" / f"{name}.1.duckdb")
    with pytest.raises(Refusal, match="not the one that the ledger knows"):
        Curator(home).query("SELECT count(*) FROM w", epsilon=50)
    with pytest.raises(Refusal, match="not the one that the ledger knows"):
        Curator(home).query("SELECT * FROM wards")
    assert account(home, "others").budget.spent == Approximate(0)
    assert not account(home, "others").held


def test_rows_as_units_leave_their_population_s_name_behind(home: Path) -> None:
    Custody(home).add("site", clinic.visits(3), Declared(unit="row", epsilon=1))
    Custody(home).remove("site")
    before = size(home)
    for said in (Declared(unit="patient", population="site", max_rows=2), Declared(unit="row", population="site")):
        with pytest.raises(Refusal, match="never share"):
            Custody(home).add("v2", clinic.visits(3), said)
    assert size(home) == before
    assert not list((home / "tables").glob("v2*"))


@pytest.mark.parametrize("more", [{"unit": "patient"}, {"epsilon": 1}, {"population": "p"}, {"max_rows": 1}])
def test_public_contradicts_what_only_private_tables_have(home: Path, more: dict[str, Any]) -> None:
    with pytest.raises(Refusal, match="--public does not go with"):
        Custody(home).add("x", clinic.visits(3), Declared(public=True, **more))


# homes that would not open again --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a\x7fb", "line\nbreak\ttab \x00\x1f \\ \" '", "é\u2028 \U0001f600 \x85"])
def test_odd_descriptions_are_kept_as_they_are(home: Path, text: str) -> None:
    Custody(home).add("v2", clinic.visits(3), clinic.declared(epsilon=2, describe={"cost": text}))
    assert Curator(home)._catalogue.tables["v2"].column("cost").description == text


@pytest.mark.parametrize(
    "said",
    [
        {"describe": {"cost": "\udcff"}},
        {"population": "p", "epsilon": "1." + "0" * 1500 + "1"},
        {"keys": {"region": ["\ud800"]}},
        {"epsilon": 9},
    ],
    ids=lambda said: next(iter(said)),
)
def test_what_could_not_be_read_back_is_refused_before_the_ledger_is_written(home: Path, said: dict[str, Any]) -> None:
    before = size(home)
    with pytest.raises(Refusal):
        Custody(home).add("v2", clinic.visits(3), clinic.declared(**{"epsilon": 2, **said}))
    assert size(home) == before
    assert [path.name for path in (home / "tables").glob("*.duckdb")] == ["visits.1.duckdb"]
    Curator(home).query(COUNT, epsilon=1)


def test_lost_declarations_are_not_replaced_by_a_new_budget(home: Path) -> None:
    Curator(home).query(COUNT, epsilon=2)
    (home / "discreet.toml").unlink()
    found_home(home)
    before = size(home)
    with pytest.raises(Refusal, match="another budget"):
        Custody(home).add("visits", clinic.visits(5), clinic.declared(epsilon=9))
    assert size(home) == before
    assert Custody(home).add("visits", clinic.visits(5), clinic.declared(epsilon=2)).version == 2
    with pytest.raises(OverBudget):
        Curator(home).query(COUNT, epsilon=1)


def test_a_delta_of_nought_is_none(tmp_path: Path) -> None:
    curator = Curator(clinic.home(tmp_path / "home", epsilon=1, delta="0"))
    assert curator.query(COUNT, epsilon="0.5").cost == Pure("0.5")


# who may ask, and for how much ----------------------------------------------------------------------------------------


class Mechanism:
    """Anything, at a price."""

    takes, privacy, neighbours = Takes.ROWS, Approximate("0.1"), AddRemove()

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def __call__(self, rows: object, /, *, rng: object = None) -> object:
        return self._answer if rows else rng


def test_an_analyst_runs_no_code_among_the_rows(home: Path) -> None:
    Custody(home).let_in("ana", "analyst")
    Custody(home).let_in("cy", "custodian")
    for person in ("ana", "cy"):
        with pytest.raises(Refusal, match="only the custodian"):
            Curator(home, principal=person).run(Mechanism(1), "SELECT patient FROM visits", max_rows=1)
    assert account(home).budget.spent == Approximate(0)


def test_a_grant_taken_away_while_a_question_is_planned_pays_for_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Custody(home).add("more", clinic.visits(3), clinic.declared(epsilon=2))
    Custody(home).let_in("ana", "analyst")
    curator, real = Curator(home, principal="ana"), postprocessing.rehearse

    def meddle(*given: Any) -> object:  # noqa: ANN401
        found = real(*given)
        Custody(home).shut_out("ana")
        Custody(home).let_in("ana", "analyst", tables=["more"])
        return found

    monkeypatch.setattr(postprocessing, "rehearse", meddle)
    with pytest.raises(Refusal, match="there is no table 'visits'"):
        curator.query(COUNT, epsilon="0.1")
    assert account(home).budget.spent == Approximate(0)


def test_a_grant_on_a_removed_public_table_is_none_on_private_rows_of_its_name(home: Path) -> None:
    Custody(home).add("tt", clinic.visits(3), Declared(public=True))
    Custody(home).let_in("ana", "analyst", tables=["tt"])
    Custody(home).remove("tt")
    Custody(home).add("tt", clinic.visits(3), clinic.declared(epsilon=2))
    with pytest.raises(Refusal, match="there is no table 'tt'"):
        Curator(home, principal="ana").query("SELECT count(*) FROM tt", epsilon="0.1")


@pytest.mark.parametrize("terms", [{"rho": "0.1"}, {"rho": 10, "within": True}])
def test_an_allowance_in_another_measure_is_refused(home: Path, terms: dict[str, Any]) -> None:
    Custody(home).let_in("ana", "analyst", allowance=1)
    Custody(home).add("z", clinic.visits(3), clinic.declared(population="p2", epsilon=None, rho=1))
    with pytest.raises(Refusal, match=r"your allowance is kept in epsilon and delta, the budget of '\w+' in rho"):
        Curator(home, principal="ana").query("SELECT count(*) FROM z", **terms)


def test_who_is_shut_out_reads_no_budget(home: Path) -> None:
    Custody(home).let_in("ana", "analyst")
    curator = Curator(home, principal="ana")
    assert curator.populations() == ["patient"]
    Custody(home).shut_out("ana")
    for look in (
        lambda: curator.budget("patient"),
        curator.populations,
        curator.grants,
        lambda: curator.explain(COUNT),
    ):
        with pytest.raises(Refusal, match="no user 'ana'"):
            look()


@pytest.mark.parametrize(
    "terms", [{"epsilon": 1, "error": 5}, {"rho": 1, "error": 5}, {"epsilon": 1, "rho": 1}, {"epsilon": 1, "error": 0}]
)
def test_two_prices_are_none(home: Path, terms: dict[str, Any]) -> None:
    with pytest.raises(Refusal, match="names one of epsilon, rho and error"):
        Curator(home).query(COUNT, **terms)
    with pytest.raises(Refusal, match="names one of epsilon, rho and error"):
        Curator(home).explain("SELECT 1", **terms)


@pytest.mark.parametrize(
    ("budget", "price"),
    [({"epsilon": 2}, {"epsilon": "1e-40"}), ({"epsilon": 2}, {"epsilon": "1e-17"}), ({"rho": 2}, {"rho": "1e-70"})],
)
def test_noise_that_fits_no_number_is_refused_before_it_is_paid(
    tmp_path: Path, budget: Mapping[str, Any], price: dict[str, Any]
) -> None:
    home = clinic.home(tmp_path / "home", **{"epsilon": None, **budget})
    with pytest.raises(Refusal, match="larger than any number"):
        Curator(home).query(COUNT, **price)
    assert account(home).budget.spent in (Approximate(0), Concentrated(0))


@pytest.mark.parametrize("price", ["1e-25", "1e-19"])
def test_a_quantile_at_next_to_nothing_is_refused_before_it_is_paid(home: Path, price: str) -> None:
    """Its ends lay beyond 64 bits: the population went on hold, or a row more or less was seen in the answer."""
    db = Curator(home)
    for sql in (
        "SELECT median(cost) AS m FROM visits",
        "SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY cost) FROM visits",
    ):
        with pytest.raises(Refusal, match="larger than any number"):
            db.query(sql, epsilon=price)
    order = NamedRun.of("quantile-end", "visits", {"column": "cost", "around": 5, "epsilon": price})
    with pytest.raises(Refusal, match="too small for an end"):
        answered_run(db, order)
    assert account(home).budget.spent == Approximate(0)
    assert not account(home).held


def test_a_tiny_rest_buys_nothing(home: Path) -> None:
    curator = Curator(home)
    curator.query(COUNT, epsilon=2 - Fraction(1, 10**30))
    with pytest.raises(Refusal, match="larger than any number"):
        curator.query(SUM, epsilon=1, within=True)


def test_the_rest_after_many_long_prices_can_be_spent(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", epsilon=1000)
    curator, rest = Curator(home), Fraction(1000)
    for i in range(9):
        price = Fraction(1, 10**30 - 2 * i - 1) + 1
        curator.query(COUNT, epsilon=price, fresh=True)
        rest -= price
    cost = curator.query(SUM, epsilon=2000, within=True).cost
    assert isinstance(cost, Approximate)
    assert rest * (1 - Fraction(1, 2**60)) < cost.epsilon <= rest
    with pytest.raises(OverBudget):
        curator.query(SUM, epsilon=1, fresh=True)


@pytest.mark.parametrize("sql", [f"{COUNT} WHERE region = '\udc80'", "SELECT '\udc80'", f"{COUNT} ORDER BY '\ud800'"])
def test_half_a_character_in_a_question_is_refused(home: Path, sql: str) -> None:
    for ask in (Curator(home).query, Curator(home).explain):
        with pytest.raises(Refusal, match="half a character"):
            ask(sql, epsilon=1)
