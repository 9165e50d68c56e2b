"""Theme: colours, and the few shapes that every page is made of.

Whatever a person wrote (a question, a name, a cell) goes through `tag` and is shown as text. Tailwind is off: classes
are those of static/console.css, which begin with d-, and Quasar's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from nicegui import ui

from discreet.errors import Fault, OverBudget, Refusal

ACCENT = "#0f766e"
PRICED = "Each question about these people must name a price"
UNPRICED = "Else a question without one pays the usual price: a dashboard that asks often can spend all."
BROKEN = "this did not work, and no question was asked; load the page again"


def colours() -> None:
    """Quasar's colours, for this page."""
    ui.colors(primary=ACCENT, secondary="#475569", accent=ACCENT, positive="#15803d", negative="#b91c1c")


def tag(name: str, text: str = "") -> ui.element:
    """An HTML element with a text, which is never taken for HTML."""
    made = ui.element(name)
    say(made, text)
    return made


def say(made: ui.element, text: str) -> None:
    """Give an element another text."""
    made._text = text or None  # noqa: SLF001  # as NiceGUI's own labels set it
    made.update()


def link(text: str, path: str) -> ui.element:
    """A link to a page or a file."""
    made = tag("a", text)
    made.props["href"] = path
    return made


def go(words: str, icon: str, path: str, look: str = "unelevated") -> ui.button:
    """A button that is a link."""
    made = ui.button(words, icon=icon).props(f"{look} no-caps type=a")
    made.props["href"] = path
    return made


def heading(text: str, level: int = 1) -> ui.element:
    """A heading."""
    return tag(f"h{level}", text).classes("d-heading")


def lead(text: str) -> ui.element:
    """A sentence or two below a heading."""
    return tag("p", text).classes("d-lead")


def muted(text: str) -> ui.element:
    """A sentence that is less than what stands around it."""
    return tag("p", text).classes("d-muted")


def note(text: str) -> ui.element:
    """A sentence in small letters."""
    return muted(text).classes("d-small")


def live() -> ui.element:
    """A place whose changes are read aloud to who cannot see them."""
    return ui.element("div").props('aria-live="polite"')


@contextmanager
def card(title: str = "", label: str = "") -> Iterator[ui.element]:
    """A part of a page that belongs together, with a title or, for who hears it, a label."""
    with ui.element("section").classes("d-card") as made:
        if label:
            made.props["aria-label"] = label
        if title:
            heading(title, 2)
        yield made


@contextmanager
def facts() -> Iterator[None]:
    """A list of facts, each put in with `fact`."""
    with ui.element("dl").classes("d-facts"):
        yield


def fact(name: str, value: str, note: str = "") -> None:
    """One row: what it is, how much, and what that means."""
    with ui.element("div").classes("d-fact"):
        tag("dt", name)
        with tag("dd", value):
            if note:
                tag("span", note).classes("d-muted d-note")


def number(value: str, error: str = "", unit: str = "") -> ui.element:
    """A number as it is read aloud: the value, give or take the error."""
    with ui.element("span").classes("d-number") as made:
        tag("strong", value)
        if error:
            tag("span", f"± {error}").classes("d-error").props('title="give or take"')
        if unit:
            tag("span", unit).classes("d-muted")
    return made


@contextmanager
def experts() -> Iterator[None]:
    """What is said in the letters of mathematics, folded away."""
    with ui.element("details").classes("d-experts"):
        tag("summary", "For experts")
        yield


def empty(text: str, hint: str = "", icon: str = "inbox") -> ui.element:
    """Where there is nothing yet, and what to do about it."""
    with ui.element("div").classes("d-empty") as made:
        ui.icon(icon).props('aria-hidden="true"')
        tag("p", text).classes("d-empty-text")
        if hint:
            muted(hint)
    return made


def refusal(
    said: Refusal,
    *,
    sql: str = "",
    repaired: Callable[[str], None] | None = None,
    foot: str = "Nothing was charged.",
) -> ui.element:
    """Why something was refused, where in the question, and a question that would be answered."""
    with ui.element("div").classes("d-refusal").props('role="alert"') as made:
        tag("strong", "Over budget" if isinstance(said, OverBudget) else "Refused")
        tag("p", sentence(said.message))
        if said.hint:
            muted(sentence(said.hint))
        if sql and said.place is not None:
            _marked(sql, said.place)
        repair(said.repair, repaired)
        note(foot)
    return made


def repair(mended: str | None, use: Callable[[str], None] | None, look: str = "unelevated") -> None:
    """A question that would be answered, if there is one, and a button to use it."""
    if mended is None:
        return
    tag("pre", mended).classes("d-code").props('aria-label="A question that would be answered"')
    if use is not None:
        ui.button("Use the repaired question", on_click=lambda: use(mended)).props(f"{look} no-caps")


def _marked(sql: str, place: tuple[int, int]) -> None:
    start, end = max(0, place[0]), min(len(sql), place[1])
    with ui.element("pre").classes("d-code").props('aria-label="Your question, with the trouble marked"'):
        tag("span", sql[:start])
        tag("mark", sql[start:end])
        tag("span", sql[end:])


def fault(*, question: bool) -> ui.element:
    """That something failed: a constant sentence, which tells whether a question was under way and nothing else."""
    with ui.element("div").classes("d-refusal d-fault").props('role="alert"') as made:
        tag("strong", "Failed")
        tag("p", sentence(Fault.SENTENCE if question else BROKEN))
    return made


def copied(text: str, label: str) -> None:
    """A text with a button that copies it."""
    with ui.element("div").classes("d-copied"):
        tag("pre", text).classes("d-code d-grow")
        copy(text, label)


def copy(text: str, label: str) -> None:
    """A button that copies a text."""
    button = tag("button", "Copy").classes("d-copy").props('type="button"')
    button.props["data-copy"], button.props["aria-label"] = text, label


def tool(words: str, doing: Callable[[], object], icon: str | None = None) -> ui.button:
    """A button for something at hand that is not what a page is for."""
    return ui.button(words, icon=icon, on_click=doing, color=None).props("flat dense no-caps").classes("d-quiet")


@contextmanager
def table(titles: Iterable[tuple[str, str]], label: str = "", classes: str = "") -> Iterator[ui.element]:
    """A table that scrolls in its place: its titles and their classes, and the rows that are put in."""
    with ui.element("div").classes(f"d-scroll {classes}") as region, ui.element("table").classes("d-table") as made:
        if label:
            region.props('tabindex="0" role="region"').props["aria-label"] = label
        with ui.element("thead"), ui.element("tr"):
            for title, kind in titles:
                tag("th", title).classes(kind).props('scope="col"')
        with ui.element("tbody"):
            yield made


def row(*cells: tuple[str, str]) -> None:
    """A row of a table: what stands in each cell, and the cell's classes."""
    with ui.element("tr"):
        for text, kind in cells:
            tag("td", text).classes(kind)


def one_of(names: Mapping[int, str], label: str, look: str, draw: Callable[[int], None], *, told: bool = False) -> None:
    """The first of several things, and a list to choose another one from; `told` if a change is to be read aloud."""
    box: ui.element

    def drawn(place: int) -> None:
        box.clear()
        with box:
            draw(place)

    if len(names) > 1:
        choice = ui.select(dict(names), value=0, label=label).props("outlined dense options-dense")
        choice.classes(look).on_value_change(lambda event: drawn(int(event.value)))
    box = live() if told else ui.element("div")
    drawn(0)


def made_up() -> None:
    """That rows are nobody's."""
    with ui.element("p").classes("d-made-up").props('role="note"'):
        ui.icon("science").props('aria-hidden="true"')
        tag("span", "These rows were made up from what is declared. They say nothing about anyone.")


@contextmanager
def busy(*buttons: ui.button) -> Iterator[None]:
    """Buttons that turn while something is computed, and cannot be pressed twice."""
    for button in buttons:
        button.props("loading").disable()
    try:
        yield
    finally:
        for button in buttons:
            button.props(remove="loading").enable()


def sentence(text: str) -> str:
    """As the first words of a paragraph."""
    ended = text if text.endswith((".", "!", "?", "…")) else f"{text}."
    is_word = ended.partition(" ")[0].isalpha()  # and not visits.cost, which is a name as it is written
    return ended[:1].upper() + ended[1:] if is_word else ended
