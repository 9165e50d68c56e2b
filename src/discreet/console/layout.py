"""Layout of every page: the frame with its links, how trouble is told, and dialogs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nicegui import ui
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from discreet.console import sessions, theme
from discreet.console.pages import PLACES, Ended, Place, Visit, place_at, static_address
from discreet.errors import Refusal

if TYPE_CHECKING:
    from discreet.curator.custody import Custody

Build = Callable[[Visit], Awaitable[None]]

_PATIENCE = 120.0  # seconds for a page to be built: a ledger that is being read elsewhere may keep it waiting
_OUT_OF_ORDER = "This page cannot be shown now. Try again in a while; if it stays so, a custodian runs discreet doctor."
_ICONS = {"auto": "brightness_auto", "light": "light_mode", "dark": "dark_mode"}
_DARK = {"auto": None, "light": False, "dark": True}
UNCHANGED = "Nothing was changed."
Doing = Callable[[], Awaitable[None]]


def page(path: str) -> Callable[[Build], Build]:
    """Make a function the page at a path: it is called with the visit, and draws into the frame.

    Whoever signed in by a grant that is no more goes back to the form. Refusals while the page is built are shown in
    its place; what comes later, from a button or a timer, the page shows itself with `trouble`.
    """
    place = place_at(path)

    def registered(build: Build) -> Build:
        async def drawn(request: Request) -> Response | None:
            visit: Visit = request.scope["visit"]
            ui.context.client.on_exception(lambda broken: _told(visit, broken))
            try:
                if not await visit.in_force():
                    visit.end("revoked")
                    return _away("revoked")
                with _frame(place, visit, request):
                    await _content(place, visit, build)
            except Ended as ended:
                return _away(ended.why)
            except Refusal:  # nothing can be asked at all: the ledger cannot be read, or too many ask
                return PlainTextResponse(_OUT_OF_ORDER, 503)
            return None

        drawn.__annotations__ = {"request": Request}  # FastAPI reads it, and would look for the name elsewhere
        ui.page(path, title=f"{place.title} · discreet", response_timeout=_PATIENCE)(drawn)
        return build

    return registered


def styles(*names: str) -> None:
    """Style sheets for a page, beside the one that every page has."""
    for name in names:
        ui.add_head_html(f'<link rel="stylesheet" href="{static_address(name)}">')


def origin() -> str:
    """Where this browser reaches the server."""
    url = ui.context.client.request.url
    return f"{url.scheme}://{url.netloc}"


class Newest:
    """Count of changes, by which what belongs to an earlier one is known to come too late."""

    def __init__(self) -> None:
        self._changes = 0

    def change(self) -> Callable[[], bool]:
        """One more change; what comes back tells whether it is still the newest."""
        self._changes += 1
        mine = self._changes
        return lambda: mine == self._changes


@contextmanager
def trouble(
    box: ui.element,
    *,
    sql: str = "",
    repaired: Callable[[str], None] | None = None,
    foot: str = "Nothing was charged.",
    question: bool = False,
) -> Iterator[None]:
    """Empty a box, and if what follows is refused or fails, say so in it.

    With the question that was asked, the box marks its offending part; with `repaired`, it offers the question that
    would be answered; with `question`, something is paid meanwhile.
    """
    box.clear()
    try:
        yield
    except Ended as ended:
        _leave(ended.why)
    except Refusal as refusal:
        with box:
            theme.refusal(refusal, sql=sql, repaired=repaired, foot=foot)
    except Exception:  # noqa: BLE001  # a Fault, or what nobody foresaw: the same words, because data was read
        with box:
            theme.fault(question=question)


def _told(visit: Visit, broken: Exception) -> None:
    """For a page that did not say what it does with trouble. Whoever pays does say it."""
    if isinstance(broken, Ended) or visit.session.over:
        _leave(broken.why if isinstance(broken, Ended) else "ended")
    else:
        said = broken.message if isinstance(broken, Refusal) else theme.BROKEN
        ui.notify(theme.sentence(said), type="negative")


def _leave(why: str) -> None:
    ui.navigate.to(f"/sign-in?why={why}")


def _away(why: str) -> Response:
    return RedirectResponse(f"/sign-in?why={why}", 303)


async def _content(place: Place, visit: Visit, build: Build) -> None:
    theme.heading(place.title)
    if place.custodian and not visit.custodian:
        ui.context.client.status_code = 403
        theme.empty("This page is for custodians.", "Ask one of them if something should change here.", "lock")
        return
    try:
        await build(visit)
    except Refusal as refusal:
        theme.refusal(refusal)


@contextmanager
def _frame(place: Place, visit: Visit, request: Request) -> Iterator[None]:
    ui.add_head_html(
        f'<link rel="stylesheet" href="{static_address("console.css")}">'
        f'<script defer src="{static_address("console.js")}"></script>'
    )
    theme.colours()
    outer = ui.context.client.content.parent_slot
    if outer is not None:
        outer.parent.props('role="none"')  # Quasar's page is a <main>, and ours stands in it
    with ui.element("div").classes("d-shell"):
        theme.tag("a", "Skip to the page").props('href="#page"').classes("d-skip")
        with ui.element("header").classes("d-top").props('role="banner"'):
            theme.tag("a", "discreet").props('href="/ask"').classes("d-brand")
            ui.element("span").classes("d-grow")
            _who(visit)
            _switch(sessions.theme_of(request.scope))
            with ui.element("form").props('method="post" action="/sign-out"'):
                ui.button("Sign out", color=None).props("type=submit flat no-caps dense").classes("d-quiet")
        with ui.element("nav").classes("d-nav").props('aria-label="Pages"'):
            for each in PLACES:
                if visit.custodian or not each.custodian:
                    _link(each, here=each is place)
        with ui.element("main").classes("d-main").props('id="page" tabindex="-1"'):
            yield


def _who(visit: Visit) -> None:
    with ui.element("span").classes("d-who").props(f'title="{visit.visitor.role}"'):
        ui.icon("person_outline").props('aria-hidden="true"')
        theme.tag("span", visit.visitor.name)


def _link(place: Place, *, here: bool) -> None:
    current = 'aria-current="page"' if here else ""
    with ui.element("a").props(f'href="{place.path}" {current}').classes("d-link"):
        ui.icon(place.icon).props('aria-hidden="true"')
        theme.tag("span", place.title).classes("d-long")
        theme.tag("span", place.short).classes("d-short")


def _switch(now: str) -> None:
    """Light, dark, or as the machine is; kept in a cookie of its own."""
    dark = ui.dark_mode(_DARK[now])
    chosen = [now]

    def turn() -> None:
        chosen[0] = sessions.THEMES[(sessions.THEMES.index(chosen[0]) + 1) % len(sessions.THEMES)]
        dark.value = _DARK[chosen[0]]
        button.props(f'icon={_ICONS[chosen[0]]} aria-label="Theme: {chosen[0]}"')
        kept = f"{sessions.THEME}={chosen[0]}; Path=/; Max-Age=31536000; SameSite=Strict"
        ui.run_javascript(f"document.cookie = '{kept}'")

    button = ui.button(on_click=turn, color=None).props(
        f'icon={_ICONS[now]} flat round dense aria-label="Theme: {now}"'
    )
    button.classes("d-quiet")


@contextmanager
def apart(props: str = "") -> Iterator[ui.dialog]:
    """A dialog that outlives what it was opened from, and is forgotten when it closes."""
    with ui.context.client.content, ui.dialog().props(props) as dialog:
        dialog.on("hide", dialog.delete)
        yield dialog


def changed(visit: Visit, doing: Callable[[Custody], object], told: str, again: Doing) -> Doing:
    """Something to confirm: it is done, a word of it is said, and what it changed is drawn again."""

    async def done() -> None:
        await visit.custody(doing)
        ui.notify(told, type="positive")
        await again()

    return done


def confirm(title: str, words: str, name: str, verb: str, doing: Doing) -> None:
    """Ask in a dialog of its own; do it when the name was typed, and say there what is refused."""
    with apart() as dialog, ui.element("div").classes("d-card d-dialog"):
        theme.heading(title, 2)
        theme.tag("p", words)
        typed = ui.input(f"Type {name} to go on").props('outlined autofocus autocomplete="off" spellcheck="false"')
        typed.classes("full-width")
        box = theme.live()
        with ui.element("div").classes("d-row d-foot"):
            button = ui.button(verb, color="negative").props("unelevated no-caps")
            ui.button("Leave it", on_click=dialog.close, color=None).props("flat no-caps").classes("d-quiet")

    def is_typed() -> bool:
        return str(typed.value or "").strip() == name

    async def done() -> None:
        if not is_typed():
            return
        with theme.busy(button), trouble(box, foot=UNCHANGED):
            await doing()
            dialog.close()

    button.set_enabled(False)
    typed.on_value_change(lambda: button.set_enabled(is_typed()))
    typed.on("keydown.enter", done)
    button.on_click(done)
    dialog.open()
