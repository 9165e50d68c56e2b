"""Price card: what a question costs, what is left, how often still, and a slider of price against accuracy."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from fractions import Fraction

from nicegui import ui
from nicegui.events import GenericEventArguments

from discreet.console import theme
from discreet.console.prices import PriceWish, Tag, about, figure, ladder, nearest
from discreet.curator.significant_digits import error as error_text
from discreet.errors import Refusal
from discreet.exact import positive, spoken

NOTHING = "–"
_MEANING = (
    "The privacy price says how much the answer may tell about any one person. Every question takes its price out of "
    "a budget that is set once."
)
Heard = Callable[[], Awaitable[None]]
_THOUSANDS = re.compile(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?")
_BEGUN = re.compile(r"0*\.?0*")


class Strip:
    """The numbers of a tag. They stay where they are while somebody types."""

    def __init__(self) -> None:
        with ui.element("div").classes("d-strip"):
            self._price, self._price_note = _figure("Privacy price", _MEANING)
            self._after, self._after_note = _figure("Left after it")
            self._again, self._again_note = _figure("More like it")
        with ui.element("div").classes("d-expected"):
            self._columns = ui.element("div").classes("d-row")
        self._notices = theme.live()

    def show(self, tag: Tag | None) -> None:
        """These numbers, or none."""
        words = _words(tag)
        shown = (self._price, self._price_note, self._after, self._after_note, self._again, self._again_note)
        for label, text in zip(shown, words, strict=True):
            label.set_text(text)
        self._columns.clear()
        with self._columns:
            _columns(tag)
        self._notices.clear()
        with self._notices:
            for sentence in () if tag is None else tag.notices:
                theme.tag("p", sentence).classes("d-small d-hint")


def _words(tag: Tag | None) -> tuple[str, str, str, str, str, str]:
    if tag is None:
        return NOTHING, "", NOTHING, "", NOTHING, ""
    if tag.purse is None or tag.price is None:
        return "free", "public tables only", NOTHING, "", NOTHING, ""
    price = figure(tag.price.amount, up=True)
    first = ("free", "you have this already") if tag.bought else (price, "paid once, then free")
    whole = f"of {figure(tag.purse.total.amount)}, budget “{tag.purse.population}”"
    if tag.after is None:
        return *first, figure(tag.purse.left.amount), "left now, too little", "0", ""
    again = NOTHING if tag.again is None else about(tag.again)
    return *first, figure(tag.after.amount), whole, f"about {again}" if tag.again else again, "at this price"


def _columns(tag: Tag | None) -> None:
    if tag is None or not tag.columns:
        text = "How exact it will be, you see here as you write." if tag is None else "No number in it has an error."
        if tag is not None and tag.purse is not None:
            text = "How exact it is, is known after paying."
        theme.tag("span", text).classes("d-muted d-small")
        return
    theme.tag("span", "Expected").classes("d-muted d-small")
    for name, error in tag.columns:
        with ui.element("span").classes("d-chip d-expects"):
            theme.tag("span", name)
            if error is None:
                theme.tag("span", tag.exactness(name)).classes("d-muted")
            else:
                theme.tag("strong", f"± {error_text(float(error))}")


def _figure(name: str, meaning: str = "") -> tuple[ui.label, ui.label]:
    with ui.element("div").classes("d-figures"):
        with ui.element("span").classes("d-muted d-small d-figure-name"):
            theme.tag("span", name)
            if meaning:
                with ui.element("button").classes("d-help").props('type="button"') as help_:
                    ui.icon("help_outline").props('aria-hidden="true"')
                help_.props["title"] = help_.props["aria-label"] = meaning
        value = ui.label(NOTHING).classes("d-figure-value")
        note = ui.label("").classes("d-muted d-small d-figure-note")
    return value, note


def spoken_button(tag: Tag | None) -> str:
    """What the button says that asks."""
    if tag is None or (tag.over and not tag.bought):
        return "Ask"
    return "Ask · free" if tag.due is None else f"Ask · pays {figure(tag.due.amount, up=True)}"


def note(said: Refusal, repaired: Callable[[str], None], usual: Callable[[], object] | None = None) -> None:
    """Why a question that is still being written would be refused. It is no alarm: nobody asked yet."""
    with ui.element("div").classes("d-hint"):
        with ui.element("div"):
            theme.tag("p", theme.sentence(said.message))
            if said.hint:
                theme.muted(theme.sentence(said.hint))
        theme.repair(said.repair, repaired, "outline")
        if usual is not None:
            ui.button("Use the usual price", on_click=usual).props("outline no-caps")


def too_little(tag: Tag, use_rest: Callable[[], object] | None) -> None:
    """That the price is more than is left, and what can be done."""
    if tag.purse is None or tag.due is None:
        return
    with ui.element("div").classes("d-refusal").props('role="alert"'):
        theme.tag("strong", "Over budget")
        left, price = figure(tag.purse.left.amount), figure(tag.due.amount, up=True)
        if use_rest is None:
            theme.tag("p", f"Nothing that a question could use is left of the budget “{tag.purse.population}”.")
            theme.muted("What was bought before is still shown free, in History.")
            return
        theme.tag("p", f"This costs {price}, and the budget “{tag.purse.population}” has {left} left for you.")
        ui.button(f"Use what is left: {left}", on_click=use_rest).props("unelevated no-caps")
        theme.note("Nothing was charged.")


class Dial:
    """A slider over prices, and two fields that say the same in numbers."""

    def __init__(self, changed: Heard) -> None:
        self.wish = PriceWish()
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

    def set(self, wish: PriceWish) -> None:
        """PriceWish for something else."""
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

    async def _want(self, wish: PriceWish, typing: str) -> None:
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
