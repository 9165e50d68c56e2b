"""Terms of payment: replaced units cost twice, the same numbers are bought once, edited declarations are noted."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import clinic
import pytest

from discreet.curator import Curator, catalogue, postprocessing
from discreet.curator.price import priced
from discreet.curator.quote import TermsGiven
from discreet.errors import Fault, Refusal
from discreet.ledger import Dataset, SqliteLedger
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.privacy import AddRemove, Approximate, Concentrated, Loss, Pure, Replace
from discreet.sql.split_at_noise import question

BY_REGION = "SELECT region, count(*), sum(cost), median(cost) FROM visits GROUP BY region"
BY_DIAGNOSIS = "SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis"


def replaced(sql: str, loss: BudgetLoss) -> list[Loss]:
    """What replacing one unit may lose, number by number, if the whole may lose this."""
    part = question(sql, clinic.schema()).parts[0]
    priced_at = [priced([part], loss, relation)[0] for relation in (AddRemove("patient"), Replace("patient"))]
    assert [each.loss for each in priced_at] == [loss, loss]
    charges = priced_at[1].charges
    bought = [one for charge in charges for one in (charge.mechanism, *charge.ends(Fraction(400)))]
    return [mechanism.privacy.group(2) for mechanism in bought]


def test_where_units_are_replaced_a_pair_of_changes_fits_the_price() -> None:
    pure = [loss.epsilon for loss in replaced(BY_REGION, Pure(1)) if isinstance(loss, Pure)]
    assert sum(pure) == 1
    assert len(pure) == 5  # a median has two ends beside itself
    found = replaced(BY_REGION, Concentrated("0.5"))
    rho = [loss.rho for loss in found if isinstance(loss, Concentrated)]
    rho += [loss.epsilon**2 / 8 for loss in found if isinstance(loss, Pure)]  # the exponential mechanism
    assert len(rho) == 5
    assert Fraction(49, 100) < sum(rho) <= Fraction(1, 2)


def test_where_units_are_replaced_naming_groups_fits_the_price() -> None:
    found = replaced(BY_DIAGNOSIS, Approximate(1, "1e-6"))
    epsilon = [loss.epsilon for loss in found if isinstance(loss, (Pure, Approximate))]
    delta = [loss.delta for loss in found if isinstance(loss, Approximate)]
    assert sum(epsilon) == 1
    assert Fraction(999, 10**9) < sum(delta) <= Fraction(1, 10**6)


def test_groups_cannot_be_named_for_rho_where_units_are_replaced() -> None:
    part = question(BY_DIAGNOSIS, clinic.schema()).parts[0]
    with pytest.raises(Refusal, match="kept in rho"):
        priced([part], Concentrated("0.5", "1e-6"), Replace("patient"))


def test_a_population_of_replaced_units_answers(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", relation="replace", epsilon=2)
    curator = Curator(home)
    assert curator.query(clinic.COUNT, epsilon="0.5").cost == Approximate("0.5", 0)
    assert curator.budget("patient").neighbours == Replace("patient")


def test_the_same_number_is_bought_once() -> None:
    both = "SELECT a.n - b.n FROM (SELECT count(*) n FROM visits) a, (SELECT count(*) n FROM visits) b"
    assert len(question(both, clinic.schema()).parts) == 1
    other = "SELECT a.n, b.s FROM (SELECT count(*) n FROM visits) a, (SELECT sum(cost) s, count(*) m FROM visits) b"
    (part,) = question(other, clinic.schema()).parts
    assert [aggregate.kind for aggregate in part.aggregates] == ["count", "sum"]
    urgent = "SELECT a.n - b.n FROM (SELECT count(*) n FROM visits) a, (SELECT count(*) n FROM visits WHERE urgent) b"
    assert len(question(urgent, clinic.schema()).parts) == 2


def test_a_difference_of_equal_parts_is_nought(tmp_path: Path) -> None:
    curator = Curator(clinic.home(tmp_path / "home"))
    both = "SELECT a.n - b.n FROM (SELECT count(*) n FROM visits) a, (SELECT count(*) n FROM visits) b"
    assert list(curator.query(both, epsilon="0.1").rows) == [(0,)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('population = "patient"', 'population = "other"'),
        ('unit = "patient"', 'unit = "diagnosis"'),
        ('unit = "patient"', 'unit = "row"'),
        ("version = 1\npopulation", "version = 2\npopulation"),
        ('unit = "patient"', 'unit = "patient"\npublic = true'),
    ],
)
def test_whose_rows_they_are_is_not_edited(tmp_path: Path, old: str, new: str) -> None:
    home = clinic.home(tmp_path / "home")
    file = home / "discreet.toml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    other = '\n[population.other]\nrelation = "add-remove"\nepsilon = "5"\n' if "other" in new else ""
    file.write_text(text.replace(old, new, 1) + other, encoding="utf-8")
    with pytest.raises(Refusal):
        Curator(home)


def test_an_edited_declaration_is_noted_in_the_ledger(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home")
    file = home / "discreet.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("max_rows = 50", "max_rows = 40", 1), encoding="utf-8")
    Curator(home)
    Curator(home)
    entries = [e.event for e in SqliteLedger(home / "ledger.db").entries() if isinstance(e.event, Dataset)]
    assert [event.version for event in entries] == [1, 1]
    assert entries[-1].declaration == catalogue.declaration(catalogue.read(home).tables["visits"])


def test_what_takes_too_long_above_the_noise_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curator = Curator(clinic.home(tmp_path / "home", keys={"region": [f"r{i}" for i in range(3000)]}))
    monkeypatch.setattr(postprocessing, "LONGEST", 0.2)
    side = "(SELECT region, count(*) n FROM visits GROUP BY region)"
    with pytest.raises(Fault):
        curator.query(f"SELECT sum(a.n * b.n + c.n * d.n) FROM {side} a, {side} b, {side} c, {side} d", epsilon="0.1")


def test_every_level_of_a_rollup_has_its_error_bars(tmp_path: Path) -> None:
    curator = Curator(clinic.home(tmp_path / "home"))
    found = curator.query("SELECT region, count(*) AS n FROM visits GROUP BY ROLLUP (region) ORDER BY n", epsilon=1)
    assert len(found.rows) == len(clinic.REGIONS) + 1
    for (_, number), (key, span) in zip(found.rows, found.intervals("0.95"), strict=True):
        assert key is None
        assert span is not None
        assert span[0] < int(str(number)) < span[1]


LONG = f"{10**989}/{10**990 + 7}"


@pytest.mark.parametrize(
    ("measure", "terms"),
    [
        ({"epsilon": 5}, {"epsilon": LONG}),
        ({"epsilon": 5}, {"epsilon": Fraction(10**29, 10**30 + 1)}),
        ({"epsilon": 5}, {"epsilon": "0.1", "delta": LONG}),
        ({"epsilon": 5}, {"error": LONG}),
        ({"epsilon": 5}, {"epsilon": LONG, "within": True}),
        ({"epsilon": None, "rho": 5}, {"rho": LONG}),
    ],
)
def test_a_price_of_many_digits_is_refused_before_anything_is_paid(
    tmp_path: Path, measure: dict[str, object], terms: TermsGiven
) -> None:
    curator = Curator(clinic.home(tmp_path / "home", **measure))
    before = curator.budget("patient")
    sql = BY_DIAGNOSIS if "delta" in terms else clinic.COUNT
    for ask in (curator.query, curator.explain):
        with pytest.raises(Refusal, match="at most 30 digits"):
            ask(sql, **terms)
    assert curator.budget("patient") == before


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_a_price_of_thirty_digits_is_paid_exactly_and_so_is_what_is_left(tmp_path: Path, relation: str) -> None:
    curator = Curator(clinic.home(tmp_path / "home", relation=relation, epsilon=2))
    price, delta = Fraction(10**29 + 3, 10**30), Fraction(7, 10**30)
    both = "SELECT diagnosis, count(*), avg(cost), stddev(cost) FROM visits GROUP BY diagnosis"
    assert curator.query(both, epsilon=price, delta=delta).cost == Approximate(price, delta)
    third = Fraction(1, 3)
    assert curator.query(BY_REGION, epsilon=third).cost == Approximate(third, 0)
    rest = curator.budget("patient").left
    assert curator.query(both, epsilon=5, within=True).cost is not None
    after = curator.budget("patient").left
    assert isinstance(rest, Approximate)
    assert isinstance(after, Approximate)
    assert after.epsilon <= rest.epsilon / 2**60


@pytest.mark.parametrize("loss", [Approximate(Fraction(1, 10**30 - 1), "1e-30"), Concentrated(1, Fraction(1, 3))])
def test_what_a_price_is_split_into_has_hardly_more_digits(loss: Approximate | Concentrated) -> None:
    sql = (
        "SELECT a.n, b.s, c.v FROM (SELECT diagnosis, count(*) n, avg(cost) m FROM visits GROUP BY diagnosis) a, "
        "(SELECT sum(cost) s FROM visits WHERE urgent) b, (SELECT stddev(cost) v FROM visits WHERE cost > 3) c"
    )
    parts = question(sql, clinic.schema()).parts
    prices = priced(parts, loss, AddRemove("patient"))
    assert len(prices) == 3
    assert prices[0].loss + prices[1].loss + prices[2].loss == loss  # type: ignore[operator]
    for price in prices:
        main = price.loss.rho if isinstance(price.loss, Concentrated) else price.loss.epsilon
        assert max(main.denominator.bit_length(), price.loss.delta.denominator.bit_length()) <= 120
