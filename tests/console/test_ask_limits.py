"""What the Ask page never does: buy what it calls free, show a value as programs write it, draw without end."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import clinic
import pyarrow as pa
import pytest
from console.test_ask_parts import ann
from console.test_upload import run
from nicegui import Client, ui

from discreet.console import data_dictionary
from discreet.console.data_dictionary import shelf
from discreet.console.prices import PriceWish, counter, promised, tagged
from discreet.curator.custody import Custody, Declared
from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Table
from discreet.errors import OverBudget, Refusal


def test_what_is_called_free_is_never_bought(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", epsilon=3)
    desk, visitor = ann(home)
    wish = PriceWish(price=Fraction("0.5"))
    first = tagged(desk, visitor, clinic.COUNT, wish)
    answer = counter(desk, first)(visitor, first.sql, first.payment)
    free = tagged(desk, visitor, clinic.COUNT, wish)
    again = counter(desk, free)(visitor, free.sql, free.payment)
    assert (again.cost, again.rows) == (None, answer.rows)
    Custody(home).update("visits", clinic.visits())
    with pytest.raises(Refusal, match="not bought before"):
        counter(desk, free)(visitor, free.sql, free.payment)
    assert desk.budgets(visitor)["patient"].left == answer.left
    assert not promised(tagged(desk, visitor, clinic.COUNT, wish), free)
    Custody(home).add("wards", pa.table({"ward": ["a", "b"]}), Declared(public=True))
    public = tagged(desk, visitor, "SELECT count(*) AS n FROM wards", PriceWish())
    assert public.purse is None
    assert counter(desk, public)(visitor, public.sql, public.payment).cost is None


def test_a_refusal_holds_no_value_as_programs_write_it(tmp_path: Path) -> None:
    desk, visitor = ann(clinic.home(tmp_path / "home", epsilon=1))
    with pytest.raises(OverBudget) as over:
        desk.asked(visitor, clinic.COUNT, {"epsilon": 2})
    assert over.value.message == "this costs epsilon 2, and 1 of 1 is left"
    Custody(desk.home).retire("patient")
    with pytest.raises(OverBudget) as retired:
        desk.asked(visitor, clinic.COUNT, {"epsilon": 1})
    assert retired.value.message == "population 'patient' is retired"


@pytest.mark.parametrize(
    ("count", "said"), [(200, None), (201, "And 1 more column."), (1300, "And 1,100 more columns.")]
)
def test_of_a_wide_table_the_first_columns_are_drawn(count: int, said: str | None) -> None:
    wide = Table("wide", tuple(Column(f"c{i}", Type.BIGINT) for i in range(count)), "p", None, 1)

    async def drawn(draw: Callable[[], None]) -> list[str | None]:
        with Client(ui.page("")) as client:
            draw()
        return [each._text for each in client.elements.values()]

    for draw in (lambda: shelf([wide]), lambda: data_dictionary.columns(wide.columns)):
        texts = run(drawn(draw))
        assert "c199" in texts
        assert "c200" not in texts
        assert [each for each in texts if each and each.startswith("And ")] == ([] if said is None else [said])
