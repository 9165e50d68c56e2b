"""A form field for a custodian's file, and bars that say how far it and its table are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from nicegui import ui
from nicegui.events import GenericEventArguments

from discreet.console import assets, theme
from discreet.console.layout import trouble
from discreet.console.page_visit import Visit
from discreet.console.upload import Upload, said_size
from discreet.errors import Refusal

UNCHANGED = "Nothing was changed."
Chosen = Callable[[Upload], Awaitable[None]]
_GLANCE = 0.25  # seconds


def script() -> None:
    """What sends files, for a page with a chooser."""
    ui.add_head_html(f'<script defer src="{assets.address("bring.js")}"></script>')


def chooser(visit: Visit, chosen: Chosen) -> None:
    """A place to drop a file. What comes is handed on; it is dropped when the page goes."""
    most = visit.uploads.most
    with ui.element("label").classes("d-drop") as place:
        ui.icon("upload_file").props('aria-hidden="true"')
        theme.tag("strong", "Choose a file, or drop it here")
        theme.tag("span", f"Parquet, or CSV with a line of names. Up to {said_size(most)}.").classes("d-muted")
        field = ui.element("input").props('type="file" accept=".parquet,.pq,.csv,.tsv,.txt"')
    with ui.element("div").classes("d-coming") as coming:
        bar = ui.element("progress").props('max="100" aria-label="How much of the file has arrived"')
        words = theme.tag("span").classes("d-muted")
        ui.button("Stop", color=None).props("flat dense no-caps").classes("d-quiet").on(
            "click", js_handler="() => window.discreetStop()"
        )
    coming.set_visibility(False)
    box = ui.element("div").props('aria-live="polite"')
    client = ui.context.client

    async def heard(event: GenericEventArguments) -> None:
        told = event.args if isinstance(event.args, dict) else {}
        share = told.get("share")
        on_its_way = isinstance(share, (int, float))
        place.set_visibility(not on_its_way)
        coming.set_visibility(on_its_way)
        if isinstance(share, (int, float)):
            box.clear()
            bar.props["value"] = str(round(100 * share))
            bar.update()
            words._text = f"{min(99, round(100 * share))} % has arrived" if share < 1 else "Almost there"  # noqa: SLF001
            words.update()
            return
        with trouble(box, foot=UNCHANGED):
            upload = _arrived(visit, told)
            client.on_delete(lambda: visit.uploads.drop(upload))
            await chosen(upload)

    field.on("change", heard, js_handler=f"(event) => window.discreetBring(event.target, {most}, emit)")


def _arrived(visit: Visit, told: dict[str, object]) -> Upload:
    if told.get("large"):
        limit = said_size(visit.uploads.most)
        raise Refusal(f"a file may have {limit} here", hint="add it on the server itself, with discreet add")
    if not isinstance(told.get("id"), str):
        raise Refusal(str(told.get("said") or "the file did not arrive")[:500])
    return visit.uploads.find(visit.session, told["id"])


@dataclass
class Share:
    """A share of some work, told by one thread and read by another."""

    done: float = 0.0

    def hear(self, done: float) -> None:
        """What the work says of itself."""
        self.done = done


def progress(share: Share, what: str) -> None:
    """A bar that follows a share."""
    with ui.element("div").classes("d-coming").props('role="status"'):
        bar = ui.element("progress").props('max="100"')
        bar.props["aria-label"] = what
        theme.tag("span", what).classes("d-muted")

    def look() -> None:
        bar.props["value"] = str(round(100 * max(0.0, min(1.0, share.done))))
        bar.update()

    ui.timer(_GLANCE, look)
