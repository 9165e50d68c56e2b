"""Price against accuracy: whichever of the two somebody sets, the other follows."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from fractions import Fraction

from nicegui import ui
from nicegui.events import GenericEventArguments

from discreet.console import theme
from discreet.console.amounts import figure
from discreet.console.price_tag import Tag, Wish, ladder, nearest
from discreet.curator.significant_digits import error as error_text
from discreet.errors import Refusal
from discreet.exact import positive, spoken

Heard = Callable[[], Awaitable[None]]
_THOUSANDS = re.compile(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?")
_BEGUN = re.compile(r"0*\.?0*")


class Dial:
    """A slider over prices, and two fields that say the same in numbers."""

    def __init__(self, changed: Heard) -> None:
        self.wish = Wish()
        self._changed, self._typing = changed, ""
        self._steps: tuple[Fraction, ...] = (Fraction(1),)
        self._usual = Fraction(1)
        with ui.element("div").classes("d-dial").props('role="group" aria-label="Price and accuracy"'):
            with ui.element("div").classes("d-slide"):
                self._slider = ui.slider(min=0, max=1, step=1, value=0).props('aria-label="Price, from low to high"')
                with ui.element("div").classes("d-ends d-muted d-small").props('aria-hidden="true"'):
                    theme.tag("span", "cheaper, rougher")
                    theme.tag("span", "dearer, more exact")
            self._price = _field("Price")
            self._error = _field("About ±")
            self._reset = ui.button("Usual price", on_click=self._use_usual, color=None)
            self._reset.props("flat no-caps dense").classes("d-quiet d-reset")
        self._able(price=False, error=False)
        self._slider.on("update:model-value", self._slid, throttle=0.08)
        self._price.on("update:model-value", self._priced)
        self._error.on("update:model-value", self._erred)
        for each in (self._price, self._error):
            each.on("blur", self._left)

    def set(self, wish: Wish) -> None:
        """Wish for something else."""
        self.wish, self._typing = wish, ""

    def show(self, tag: Tag) -> None:
        """What this question costs and how exact it is then."""
        if tag.price is None or tag.usual is None or tag.purse is None:
            self._able(price=False, error=False)
            return
        self._usual = tag.usual.amount
        self._steps = ladder(self._usual, tag.purse.total.amount)
        self._slider.props(f"max={len(self._steps) - 1}")
        self._slider.value = nearest(self._steps, tag.price.amount)
        self._able(price=True, error=tag.error is not None)
        if self._typing != "price":
            self._price.value = figure(tag.price.amount, up=True)
        if self._typing != "error":
            self._error.value = "" if tag.error is None else _exact(tag.error, self.wish.error)
        self._slider.props(f'aria-valuetext="price {figure(tag.price.amount, up=True)}"')
        self._reset.set_visibility(tag.price.amount != self._usual)

    def _able(self, *, price: bool, error: bool) -> None:
        for field, can in ((self._slider, price), (self._price, price), (self._error, error)):
            field.set_enabled(can)
        self._error.props(f'placeholder="{"" if error else "known later"}"')
        if not price:
            self._reset.set_visibility(False)

    async def _slid(self, event: GenericEventArguments) -> None:
        place = min(max(0, int(event.args)), len(self._steps) - 1)
        await self._want(replace(self.wish, price=self._steps[place], error=None), "")

    async def _priced(self, event: GenericEventArguments) -> None:
        number = _number(event.args)
        if number is not None:
            await self._want(replace(self.wish, price=number, error=None), "price")

    async def _erred(self, event: GenericEventArguments) -> None:
        number = _number(event.args)
        if number is not None:
            await self._want(replace(self.wish, price=None, error=number), "error")

    async def _left(self) -> None:
        """Whoever leaves a field sees in it what is asked for now."""
        self._typing = ""
        await self._changed()

    async def _use_usual(self) -> None:
        await self._want(replace(self.wish, price=None, error=None), "")

    async def _want(self, wish: Wish, typing: str) -> None:
        self.wish, self._typing = wish, typing
        await self._changed()


def _field(label: str) -> ui.input:
    wrong = {"a number above 0, as 0.5": lambda text: not text or _number(text) is not None or _begun(text)}
    made = ui.input(label, validation=wrong).props("outlined dense inputmode=decimal debounce=200 maxlength=24")
    return made.props("hide-bottom-space").classes("d-field")


def _exact(error: Fraction, wished: Fraction | None) -> str:
    """What the field for the error says: what somebody wished for, where it is as exact as that or more."""
    if wished is not None and error <= wished:
        return spoken(wished).removeprefix("≈")
    return error_text(float(error)).replace(",", "")


def _number(text: object) -> Fraction | None:
    """What somebody typed; None if it is no number above zero, or not one yet. Commas stand between thousands."""
    typed = str(text or "").strip()
    if "," in typed and not _THOUSANDS.fullmatch(typed):
        return None  # 0,5 is not 5
    try:
        return positive(typed.replace(",", ""), "number")
    except Refusal:
        return None


def _begun(text: object) -> bool:
    """Whether it may be the beginning of a number above zero: 0, 0. and 0.0; or all that a number is rounded to."""
    return _BEGUN.fullmatch(str(text).strip()) is not None
