"""A release is paid for once, kept, found again free, and given only to whoever may ask about its tables."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import clinic
import pyarrow as pa
import pytest
from release.published import counted

from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared, found_home
from discreet.desk import HOME, Desk, PaidRelease, ReleaseOrder
from discreet.desk.release_store import called
from discreet.engines import DuckStore
from discreet.errors import Fault, OverBudget, Refusal
from discreet.ledger import Spend, SqliteLedger, StoredAnswer
from discreet.privacy import Approximate
from discreet.release import Wish
from discreet.release.folder import checked, read

COSTS = ReleaseOrder.of("visits", Wish.of("histogram", ("cost",), epsilon="0.5", bins={"cost": 10}, max_rows=3))
TABLES = ReleaseOrder.of("visits", Wish.of("marginals", ("region", "urgent"), epsilon="0.5", max_rows=3), "who comes")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=3, delta="1e-6")


def spent(home: Path) -> Approximate:
    found = Desk(home).budgets(HOME)["patient"].spent
    assert isinstance(found, Approximate)
    return found


def test_what_is_offered_is_what_is_charged_and_only_once(home: Path) -> None:
    desk = Desk(home)
    offer = desk.offered(HOME, COSTS)
    assert offer.run.loss == Approximate(Fraction(1, 2))
    assert offer.entry is None
    assert spent(home).epsilon == 0
    listed = desk.published(HOME, COSTS)
    assert spent(home).epsilon == Fraction(1, 2)
    assert desk.published(HOME, COSTS) == listed
    assert Desk(home).offered(HOME, COSTS).entry == listed.entry
    assert spent(home).epsilon == Fraction(1, 2)
    assert Desk(home).releases(HOME) == [listed]
    assert (listed.name, listed.principal, listed.wish) == ("histogram of cost", "custodian", COSTS.wish)


def test_it_counts_the_rows_of_the_home(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", epsilon=3000, unit="row", max_rows=None)
    order = ReleaseOrder.of("visits", Wish.of("histogram", ("region",), epsilon=1000, method="identity"))
    desk = Desk(home)
    found = counted(desk.release(HOME, desk.published(HOME, order).entry))
    regions = clinic.visits().column("region").to_pylist()
    for region in clinic.REGIONS:  # noise of scale 1/1000 is 0 but for a chance of e^−1000
        assert found.cell(region=region).value == regions.count(region)


def test_the_order_is_spend_then_read_then_record(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def seen(*_: object) -> object:
        paid = [entry.event for entry in SqliteLedger(home / "ledger.db", new=False).entries()]
        assert isinstance(paid[-1], Spend)  # before anything is read
        raise MemoryError("a row said so")

    desk = Desk(home)
    monkeypatch.setattr(DuckStore, "reading", seen)
    with pytest.raises(Fault) as raised:
        desk.published(HOME, COSTS)
    assert "row" not in str(raised.value)
    assert spent(home).epsilon == Fraction(1, 2)  # never refunded
    assert desk.accounts(HOME)["patient"].held
    assert desk.releases(HOME) == []
    monkeypatch.undo()
    with pytest.raises(Refusal):
        desk.published(HOME, COSTS)  # until a custodian looked


def test_a_release_is_kept_before_the_ledger_knows_of_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, append = Desk(home), SqliteLedger.append

    def watched(self: SqliteLedger, event: object) -> object:
        if isinstance(event, StoredAnswer):
            assert isinstance(event.answer, dict)
            known = event.answer["release"]
            assert isinstance(known, dict)
            assert (home / "releases" / f"{known['sha256']}.json").exists()
        return append(self, event)  # type: ignore[arg-type]

    monkeypatch.setattr(SqliteLedger, "append", watched)
    desk.published(HOME, COSTS)
    assert (home / "releases").stat().st_mode & 0o077 == 0


def test_over_budget_nothing_is_read_or_written(home: Path) -> None:
    desk = Desk(home)
    dear = ReleaseOrder.of("visits", Wish.of("histogram", ("cost",), epsilon=4, max_rows=1))
    with pytest.raises(OverBudget):
        desk.published(HOME, dear)
    assert spent(home).epsilon == 0
    assert not (home / "releases").exists()


def test_who_may_not_ask_about_a_table_has_none_of_its_releases(home: Path) -> None:
    custody, desk = Custody(home), Desk(home)
    custody.add("shifts", clinic.visits(5), clinic.declared(population="staff", epsilon=1))
    tokens = {
        name: custody.let_in(name, "analyst", tables=[table]) for name, table in (("ann", "visits"), ("bob", "shifts"))
    }
    ann, bob = (desk.bearer(tokens[name]) for name in ("ann", "bob"))
    assert ann is not None
    assert bob is not None
    listed = desk.published(ann, COSTS)
    assert listed.principal == "ann"
    assert desk.releases(ann) == desk.releases(HOME) == [listed]
    assert desk.releases(bob) == []
    for refused in (
        lambda: desk.release(bob, listed.entry),
        lambda: desk.certified(bob, listed.entry, home.parent / "out"),
        lambda: desk.published(bob, COSTS),
        lambda: desk.offered(bob, COSTS),
        lambda: desk.rehearsed(bob, COSTS),
    ):
        with pytest.raises(Refusal):
            refused()


def test_a_table_with_the_name_of_another_brings_none_of_what_was_published_of_that(home: Path) -> None:
    custody, desk = Custody(home), Desk(home)
    old = desk.published(HOME, COSTS)
    asked = desk.asked(HOME, clinic.COUNT, {"epsilon": "0.5"})
    custody.remove("visits")
    custody.add("visits", clinic.visits(5), clinic.declared(population="staff", epsilon=1))
    eve, all_of_it = (
        desk.bearer(custody.let_in(name, "analyst", tables=tables))
        for name, tables in (("eve", ["visits"]), ("al", None))
    )
    assert eve is not None
    assert all_of_it is not None
    assert desk.releases(eve) == []
    with pytest.raises(Refusal, match="none of yours"):
        desk.release(eve, old.entry)
    assert [desk.proof(eve, number) for number in (old.entry, int(asked.entry))] == [None, None]
    assert desk.releases(all_of_it) == [old]
    new = desk.published(eve, COSTS)
    assert desk.releases(eve) == [new]
    assert desk.proof(eve, new.entry) is not None


def test_an_allowance_bounds_releases_too(home: Path) -> None:
    token, desk = Custody(home).let_in("ann", "analyst", allowance="0.4"), Desk(home)
    ann = desk.bearer(token)
    assert ann is not None
    with pytest.raises(OverBudget):
        desk.published(ann, COSTS)
    assert spent(home).epsilon == 0


def test_a_folder_of_it_holds_for_everybody(home: Path, tmp_path: Path) -> None:
    desk = Desk(home)
    for number, order in enumerate((COSTS, TABLES)):
        listed = desk.published(HOME, order)
        desk.certified(HOME, listed.entry, tmp_path / f"out{number}")
        assert checked(tmp_path / f"out{number}")  # else it refuses
        release, certificate = read(tmp_path / f"out{number}")
        assert release.to_json() == desk.release(HOME, listed.entry).to_json()
        assert certificate.answer.entry.number == listed.entry
        assert certificate.title == listed.name


def test_who_orders_under_another_name_is_told_the_first() -> None:
    listed = PaidRelease(4, "who comes", "ab" * 32, "", "ann", "patient", Approximate(1), "", (), TABLES.wish)
    assert called(TABLES, listed) == ""
    assert called(replace(TABLES, name="marginals of region, urgent"), listed) == ""  # none was given
    said = called(replace(TABLES, name="patients"), listed)
    assert said == "this was published before, and a release keeps its first name: it is called 'who comes'"


def test_a_file_that_was_changed_is_not_given_out(home: Path) -> None:
    desk = Desk(home)
    listed = desk.published(HOME, COSTS)
    path = home / "releases" / f"{listed.digest}.json"
    path.write_text(path.read_text().replace("0", "1", 1))
    with pytest.raises(Refusal, match="not what the ledger knows"):
        desk.release(HOME, listed.entry)
    path.unlink()
    with pytest.raises(Refusal, match="missing"):
        desk.release(HOME, listed.entry)


def test_a_rehearsal_is_free_and_reads_nobodys_rows(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(home)
    read_from: list[Path] = []
    honest = DuckStore.reading

    def watched(self: DuckStore, *given: object) -> object:
        read_from.append(self._folder)
        return honest(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(DuckStore, "reading", watched)
    found = desk.rehearsed(HOME, COSTS)
    assert found.total.value > 100
    assert read_from
    assert home / "tables" not in read_from
    assert spent(home).epsilon == 0
    for _ in range(8):  # its budget is made up too, and never runs out
        desk.rehearsed(HOME, COSTS)


def test_new_rows_are_a_new_release(home: Path) -> None:
    desk = Desk(home)
    first = desk.published(HOME, COSTS)
    Custody(home).update("visits", clinic.visits(30))
    second = desk.published(HOME, COSTS)
    assert second.entry > first.entry
    assert spent(home).epsilon == 1
    assert [each.entry for each in desk.releases(HOME)] == [second.entry, first.entry]


@pytest.mark.parametrize(
    ("source", "wish", "words"),
    [
        ("visits", Wish.of("histogram", ("diagnosis",), epsilon=1), "diagnosis"),
        ("visits", Wish.of("histogram", ("nothing",), epsilon=1), "nothing"),
        ("nowhere", Wish.of("histogram", ("cost",), epsilon=1), "nowhere"),
        ("SELECT count(*) AS cost FROM visits", Wish.of("histogram", ("cost",), epsilon=1), "without aggregates"),
        ("SELECT region FROM visits", Wish.of("histogram", ("cost",), epsilon=1), "cost"),
    ],
)
def test_what_cannot_be_published_is_refused_free(home: Path, source: str, wish: Wish, words: str) -> None:
    desk = Desk(home)
    with pytest.raises(Refusal, match=words):
        desk.published(HOME, ReleaseOrder.of(source, wish))
    assert spent(home).epsilon == 0


@pytest.mark.parametrize("disguise", ["patient", "patient + 0", "CASE WHEN urgent THEN patient END", "-patient"])
def test_who_people_are_is_not_published(home: Path, disguise: str) -> None:
    sql = f"SELECT {disguise} AS who, cost FROM visits WHERE patient BETWEEN 0 AND 500"
    for source, column in ((sql, "who"), ("visits", "patient")):
        order = ReleaseOrder.of(
            source, Wish.of("histogram", (column,), epsilon="0.5", bins={column: "0:500:1"}, max_rows=3)
        )
        with pytest.raises(Refusal, match=f"column '{column}' says who people are"):
            Desk(home).offered(HOME, order)
    other = Wish.of("histogram", ("cost",), epsilon="0.5", bins={"cost": 10}, max_rows=3)
    assert Desk(home).offered(HOME, ReleaseOrder.of(sql, other)).run.loss == Approximate(Fraction(1, 2))


def test_a_select_names_rows_as_well_as_a_table_does(home: Path) -> None:
    desk = Desk(home)
    order = ReleaseOrder.of(
        "SELECT LEAST(cost, 500) AS low FROM visits WHERE urgent", Wish.of("histogram", ("low",), epsilon="0.1")
    )
    found = counted(desk.release(HOME, desk.published(HOME, order).entry))
    assert found.range(low=(None, None)).error is not None


@pytest.mark.parametrize("name", ["two\nlines", "x" * 121, "\x1b[31mred"])
def test_a_name_is_one_short_line(name: str) -> None:
    with pytest.raises(Refusal, match="one line"):
        ReleaseOrder.of("visits", COSTS.wish, name)


def test_a_budget_in_epsilon_and_delta_takes_a_price_in_both(home: Path) -> None:
    with pytest.raises(Refusal, match="kept in epsilon and delta") as raised:
        Desk(home).offered(HOME, ReleaseOrder.of("visits", Wish.of("marginals", ("region",), rho="0.1", max_rows=1)))
    assert "both" in raised.value.hint
    wish = Wish.of("marginals", ("region",), epsilon="0.5", delta="1e-7", max_rows=1)
    loss = Desk(home).offered(HOME, ReleaseOrder.of("visits", wish)).run.loss
    assert isinstance(loss, Approximate)
    assert loss.epsilon <= Fraction(1, 2)
    assert loss.delta == Fraction(1, 10**7)


def test_what_was_run_by_hand_is_no_release(home: Path) -> None:
    desk = Desk(home)
    publication = desk.offered(HOME, COSTS).run.mechanism
    Curator(home).run(publication, COSTS.sql)
    assert desk.offered(HOME, COSTS).entry is None
    assert desk.published(HOME, COSTS).entry == desk.releases(HOME)[0].entry


def test_who_may_not_ask_is_told_nothing_of_what_is_declared(home: Path) -> None:
    custody, desk = Custody(home), Desk(home)
    custody.add("shifts", clinic.visits(5), clinic.declared(population="staff", epsilon=1))
    bob = desk.bearer(custody.let_in("bob", "analyst", tables=["shifts"]))
    assert bob is not None
    for wish in (
        Wish.of("histogram", ("cost",), epsilon=1, bins={"cost": "-5,100"}),
        Wish.of("histogram", ("nothing",), epsilon=1),
    ):
        with pytest.raises(Refusal, match="there is no table 'visits'"):
            desk.offered(bob, ReleaseOrder.of("SELECT * FROM visits", wish))


def test_days_and_moments_are_keys_however_they_are_spelled(tmp_path: Path) -> None:
    home = tmp_path / "home"
    found_home(home)
    rows = pa.table(
        {
            "who": list(range(30)),
            "day": [date(2024, 1, 1)] * 20 + [date(2024, 1, 2)] * 10,
            "at": [datetime(2025, 1, 1, 10)] * 5 + [datetime(2025, 12, 31)] * 25,  # noqa: DTZ001
        }
    )
    Custody(home).add("visits", rows, Declared(unit="who", epsilon=10**6, max_rows=1))
    file, text = home / "discreet.toml", (home / "discreet.toml").read_text()
    for kind, keys in (("date", '["20240101", "2024-01-02"]'), ("timestamp", '["2025-01-01T10:00", "2025-12-31"]')):
        assert f'type = "{kind}"' in text
        text = text.replace(f'type = "{kind}"', f'type = "{kind}"\nkeys = {keys}')
    file.write_text(text)
    desk = Desk(home)
    for column, counts in (("day", [20, 10]), ("at", [5, 25])):
        order = ReleaseOrder.of("visits", Wish.of("histogram", (column,), epsilon=1000, method="identity"))
        found = counted(desk.release(HOME, desk.published(HOME, order).entry))
        assert found.counts().tolist() == pytest.approx(
            counts
        )  # noise of scale 1/1000 is 0 but for a chance of e^−1000
        answer = desk.asked(
            HOME, f"SELECT {column}, count(*) AS n FROM visits GROUP BY {column} ORDER BY 1", {"epsilon": 1000}
        )
        assert [row[1] for row in answer.rows] == counts


@pytest.mark.parametrize("bins", [3_000, 400_001])
def test_very_many_bins_are_counted_by_arithmetic(tmp_path: Path, bins: int) -> None:
    home = tmp_path / "home"
    found_home(home)
    rows = pa.table({"x": [7] * 50})
    Custody(home).add("visits", rows, Declared(unit="row", epsilon=10**6, bounds={"x": (0, 5_000_000)}))
    desk, wish = Desk(home), Wish.of("histogram", ("x",), epsilon=1000, bins={"x": bins}, method="identity")
    found = desk.release(HOME, desk.published(HOME, ReleaseOrder.of("visits", wish)).entry)
    assert found.total.value == pytest.approx(50)
    many = ",".join(map(str, [*range(1500), 4_000_000]))
    with pytest.raises(Refusal, match="must have one"):
        desk.offered(
            HOME, ReleaseOrder.of("visits", Wish.of("histogram", ("x",), epsilon=1, bins={"x": many + ",4000003"}))
        )
