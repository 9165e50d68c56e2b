"""Models in the console: trained with the price before, and listed like any release."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import clinic
import pytest

from discreet.console import downloads
from discreet.console.prices import PriceWish
from discreet.console.release_builder import quoted
from discreet.console.release_form import ReleaseDraft
from discreet.desk import HOME, Desk
from discreet.errors import Refusal
from discreet.privacy import Approximate


def test_a_model_is_trained_with_its_price_before_and_listed_like_any_release(tmp_path: Path) -> None:
    desk = Desk(clinic.home(tmp_path / "home", epsilon=3, delta="1e-6"))
    parts = {"estimator": "logistic-regression", "label": "urgent", "delta": "1e-9"}
    plan = ReleaseDraft("visits", ("cost", "urgent"), "model", name="Who is urgent", max_rows="3", parts=parts)
    quote = quoted(desk, HOME, plan, PriceWish(price=Fraction(1, 2)))
    assert quote.tag.price == Approximate("0.5", "1e-9")
    assert quote.shape == "2 numbers"
    assert quote.tag.columns == (("the model", None),)  # its error is not known, and it says so
    entry = desk.published(HOME, quote.order).entry
    [listed] = [each for each in desk.releases(HOME) if each.entry == entry]
    assert (listed.name, listed.loss) == ("Who is urgent", Approximate("0.5", "1e-9"))
    assert list(desk.release(HOME, entry).to_arrow()) == ["model"]
    assert downloads.certified(desk, HOME, entry).guarantee == Approximate("0.5", "1e-9")
    for wrong, where in (({**parts, "estimator": "none"}, "estimator"), ({**parts, "label": "region"}, "label")):
        with pytest.raises(Refusal) as raised:
            quoted(desk, HOME, replace(plan, parts=wrong), PriceWish())
        assert raised.value.field == where


def test_parameters_of_a_model_are_listed_with_it_and_filled_in_as_one_text(tmp_path: Path) -> None:
    desk = Desk(clinic.home(tmp_path / "home", epsilon=3, delta="1e-6"))
    parts = {"estimator": "random-forest-classifier", "label": "urgent", "parameters": "trees=7, max_depth=2"}
    plan = ReleaseDraft("visits", ("cost", "urgent"), "model", max_rows="3", parts=parts)
    assert plan.options["estimator"].choices is not None
    listed = plan.options["estimator"].choices(None)
    assert listed["random-forest-classifier"] == "random-forest-classifier (trees=20, max_depth=9, cuts=15)"
    assert "alpha=none" in listed["logistic-regression"]
    quote = quoted(desk, HOME, plan, PriceWish(price=Fraction(1, 2)))
    assert quote.order.wish.parameters == {"trees": 7, "max_depth": 2}  # type: ignore[attr-defined]
    release = desk.release(HOME, desk.published(HOME, quote.order).entry)
    assert len(release.model.trees) <= 7  # type: ignore[attr-defined]
    for wrong in ("trees", "trees=", "trees=1, trees=2", "trees=0", "leaves=3", "=7"):
        with pytest.raises(Refusal):
            quoted(desk, HOME, replace(plan, parts={**parts, "parameters": wrong}), PriceWish())
