"""How a price tag looks: what it costs, what is left, how often still, and how exact it will be."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from discreet.console import theme
from discreet.console.pricetag import Tag
from discreet.console.tally import about, figure
from discreet.curator.figures import error as error_text
from discreet.errors import Refusal

NOTHING = "–"
_MEANING = (
    "The privacy price says how much the answer may tell about any one person. Every question takes its price out of "
    "a budget that is set once."
)


class Strip:
    """The numbers of a tag. They stay where they are while somebody types."""

    def __init__(self) -> None:
        with ui.element("div").classes("d-strip"):
            self._price, self._price_note = _number("Privacy price", _MEANING)
            self._after, self._after_note = _number("Left after it")
            self._again, self._again_note = _number("More like it")
        with ui.element("div").classes("d-expected"):
            self._columns = ui.element("div").classes("d-row")
        self._notices = ui.element("div").props('aria-live="polite"')

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


def _number(name: str, meaning: str = "") -> tuple[ui.label, ui.label]:
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
                theme.tag("p", theme.sentence(said.hint)).classes("d-muted")
        if said.repair is not None:
            theme.tag("pre", said.repair).classes("d-code").props('aria-label="A question that would be answered"')
            mended = said.repair
            ui.button("Use the repaired question", on_click=lambda: repaired(mended)).props("outline no-caps")
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
            theme.tag("p", "What was bought before is still shown free, in History.").classes("d-muted")
            return
        theme.tag("p", f"This costs {price}, and the budget “{tag.purse.population}” has {left} left for you.")
        ui.button(f"Use what is left: {left}", on_click=use_rest).props("unelevated no-caps")
        theme.tag("p", "Nothing was charged.").classes("d-muted d-small")
