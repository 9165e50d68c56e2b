"""The page of one release: its pictures, free questions, what is promised, its files, and its tables made public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from nicegui import ui

from discreet.console import assets, downloads, prices, release_pictures, theme
from discreet.console.layout import UNCHANGED, trouble
from discreet.console.pages import Visit
from discreet.console.release_pictures import gallery
from discreet.console.release_questions import readings
from discreet.curator.custody import Declared
from discreet.desk import Desk, PaidRelease, Visitor
from discreet.errors import Refusal
from discreet.pictures import Picture
from discreet.release import Release
from discreet.release.certificate import Certificate, letters
from discreet.release.release import Sheet

_ROWS = 100  # of a table that are shown: its file has all


@dataclass(frozen=True)
class Exhibit:
    """Everything that the page shows, read at one time."""

    listed: PaidRelease
    release: Release
    certificate: Certificate
    pictures: Sequence[Picture]
    sheets: dict[str, Sheet]


def seen(desk: Desk, who: Visitor, entry: int) -> Exhibit:
    """A release for who may read it. It blocks."""
    known = next((each for each in desk.releases(who) if each.entry == entry), None)
    if known is None:
        raise Refusal(f"there is no release {entry}, or none of yours to read", hint="go back to the list")
    release = desk.release(who, entry)
    sheets = {name: release.sheet(table, _ROWS) for name, table in release.to_arrow().items()}
    return Exhibit(known, release, downloads.certified(desk, who, entry), release.pictures(), sheets)


async def exhibit(visit: Visit, entry: int) -> None:
    """Draw it."""
    ui.add_head_html(f'<link rel="stylesheet" href="{assets.address("records.css")}">')
    theme.tag("a", "← All releases").props('href="/releases"').classes("d-back")
    found = await visit.call(partial(seen, visit.desk), entry)
    listed, certificate = found.listed, found.certificate
    with ui.element("div").classes("d-row d-title"):
        theme.heading(listed.name, 2).classes("d-release-name")
    with ui.element("p").classes("d-meta d-above"):
        theme.tag("span", release_pictures.about(listed))
        theme.tag("span", prices.when(listed.time)).classes("d-muted")
        theme.tag("span", f"{prices.price(listed.loss)}, paid once").classes("d-muted")
        theme.tag("span", f"entry {listed.entry}").classes("d-muted")
    with theme.card(found.release.heading):
        gallery(found.pictures)
        if found.sheets:
            _sheets(found.sheets)
    readings(visit, listed.entry, found.release)
    _promise(certificate)
    _files(listed.entry, certificate)
    _check(listed.entry, certificate)
    if visit.custodian and found.sheets:
        registering(visit, listed.entry, list(found.sheets))


# tables ---------------------------------------------------------------------------------------------------------------


def _sheets(sheets: dict[str, Sheet]) -> None:
    with ui.element("details").classes("d-experts"):
        theme.tag("summary", "As a table")
        names = list(sheets)
        box: ui.element

        def drawn(name: str) -> None:
            box.clear()
            with box:
                _sheet(sheets[name])

        if len(names) > 1:
            choice = ui.select(names, value=names[0], label="Table").props("outlined dense options-dense")
            choice.classes("d-which").on_value_change(lambda event: drawn(str(event.value)))
        box = ui.element("div")
        drawn(names[0])


def _sheet(sheet: Sheet) -> None:
    keys = len(sheet.headings) - sheet.numbers
    region = ui.element("div").classes("d-scroll").props('tabindex="0" role="region" aria-label="The counts"')
    with region, ui.element("table").classes("d-table"):
        with ui.element("thead"), ui.element("tr"):
            for place, name in enumerate(sheet.headings):
                theme.tag("th", name).props('scope="col"').classes("" if place < keys else "d-num")
        with ui.element("tbody"):
            for row in sheet.rows:
                with ui.element("tr"):
                    for place, each in enumerate(row):
                        with theme.tag("td", each.text).classes("" if place < keys else "d-num"):
                            if each.beside:
                                theme.tag("span", f" {each.beside}").classes("d-pm")
    if sheet.size > len(sheet.rows):
        theme.tag("p", f"The first {len(sheet.rows)} of {sheet.size:,} rows. The file has all.").classes(
            "d-muted d-small"
        )


# what belongs to it ---------------------------------------------------------------------------------------------------


def _promise(certificate: Certificate) -> None:
    with theme.card("What is promised"):
        theme.tag("p", certificate.promise).classes("d-promise")
        theme.tag("p", "Whatever else is told about the same people adds to this. The ledger keeps the sum.").classes(
            "d-muted"
        )
        with ui.element("ul").classes("d-left-out d-muted"):
            for each in certificate.left_out:
                theme.tag("li", each)
        with theme.experts(), theme.facts():
            theme.fact("Guarantee", f"{letters(certificate.guarantee)}, {certificate.change}")
            mechanism = certificate.facts.get("mechanism")
            theme.fact("Mechanism", str(mechanism["name"]) if isinstance(mechanism, dict) else "")
            theme.fact("Source", str(certificate.facts.get("source") or ""))
            theme.fact("Rows", certificate.paid.sql)


def _files(entry: int, certificate: Certificate) -> None:
    with theme.card("Take it along"):
        theme.tag("p", "The folder has everything that anybody needs to read it and to check it.").classes("d-muted")
        with ui.element("div").classes("d-row"):
            button = ui.button("Download everything", icon="download").props("unelevated no-caps type=a download")
            button.props["href"] = downloads.release_address(entry)
        with ui.element("ul").classes("d-file-list"):
            for name, words in downloads.contents(certificate).items():
                with ui.element("li"):
                    link = theme.tag("a", name).props("download")
                    link.props["href"] = downloads.release_address(entry, name)
                    theme.tag("span", words).classes("d-muted d-small")


def _check(entry: int, certificate: Certificate) -> None:
    with theme.card("Check it, and cite it"):
        theme.tag("p", "Unpack the download, on any machine that has discreet and no access to this one:")
        _copied(f"discreet release verify {downloads.folder_name(entry)}", "Copy the command")
        theme.tag(
            "p", "Every table is computed anew, and the proof is followed to a signed head of the ledger."
        ).classes("d-muted d-small")
        theme.heading("How to cite", 3)
        _copied(certificate.how_to_cite, "Copy the citation")
        with ui.element("div").classes("d-tools"):
            button = ui.button("Proof", icon="verified").props("flat no-caps dense type=a")
            button.props["href"] = f"/ledger?entry={entry}"


def _copied(text: str, label: str) -> None:
    with ui.element("div").classes("d-copied"):
        theme.tag("pre", text).classes("d-code d-grow")
        button = theme.tag("button", "Copy").classes("d-copy").props('type="button"')
        button.props["data-copy"] = text
        button.props["aria-label"] = label


def registered(desk: Desk, who: Visitor, entry: int, table: str, name: str) -> None:
    """Add a table of a release as a public one. It blocks."""
    rows = desk.release(who, entry).to_arrow()[table]
    desk.custody(who).add(name, rows, Declared(public=True))


def registering(visit: Visit, entry: int, tables: Sequence[str]) -> None:
    """A card to do so."""
    with theme.card("Make it a public table"):
        theme.tag("p", "Everybody who may ask can then ask about it in SQL, and questions about it are free.").classes(
            "d-muted"
        )
        with ui.element("div").classes("d-asking"):
            which = ui.select(list(tables), value=tables[0], label="Table").props("outlined dense options-dense")
            which.classes("d-some").set_visibility(len(tables) > 1)
            name = ui.input("Its name in SQL", value=f"released_{entry}").props("outlined dense maxlength=64")
            name.classes("d-some")
            button = ui.button("Make it public").props("outline no-caps")
        box = ui.element("div").props('aria-live="polite"')

    async def done() -> None:
        called = str(name.value or "").strip()
        with theme.busy(button), trouble(box, foot=UNCHANGED):
            await visit.call(partial(registered, visit.desk), entry, str(which.value), called)
            with box, ui.element("div").classes("d-good").props('role="status"'):
                theme.tag("strong", f"{called} is a public table now.")
                with ui.element("p"):
                    link = theme.tag("a", "Ask about it")
                    link.props["href"] = f"/ask?sql=SELECT%20*%20FROM%20{called}"

    button.on_click(done)
    name.on("keydown.enter", done)
