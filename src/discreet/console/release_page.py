"""Page of one release: its pictures, free questions, what is promised, its files, and its tables made public."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from nicegui import ui

from discreet.console import downloads, prices, theme
from discreet.console.layout import UNCHANGED, styles, trouble
from discreet.console.pages import Visit
from discreet.curator.custody import Declared
from discreet.desk import Desk, PaidRelease, Visitor
from discreet.errors import Refusal
from discreet.exact import exact, spoken
from discreet.pictures import Picture
from discreet.pictures.svg import plain, rounded
from discreet.release import Estimate, NumberAxis, Release
from discreet.release.axis import KeyAxis, Side
from discreet.release.certificate import Certificate, letters
from discreet.release.estimate import error_bar
from discreet.release.release import Sheet
from discreet.release.release_kind import kinds

_ROWS = 100  # of a table that are shown: its file has all
_CHOICES = 200  # keys in a list; of more, one is written
_AXES = 40  # columns that are asked about
_NO_ERROR = "No error bar: how far off it may be is not known."
_OFTEN = "19 times in 20, before what bounds and caps cut off."
_FREE = "It is computed from what is published."


@dataclass(frozen=True)
class ReleaseRead:
    """Everything that the page shows, read at one time."""

    listed: PaidRelease
    release: Release
    certificate: Certificate
    pictures: Sequence[Picture]
    sheets: dict[str, Sheet]


def seen(desk: Desk, who: Visitor, entry: int) -> ReleaseRead:
    """A release for who may read it. It blocks."""
    known = next((each for each in desk.releases(who) if each.entry == entry), None)
    if known is None:
        raise Refusal(f"there is no release {entry}, or none of yours to read", hint="go back to the list")
    release = desk.release(who, entry)
    sheets = {name: release.sheet(table, _ROWS) for name, table in release.to_arrow().items()}
    return ReleaseRead(known, release, downloads.certified(desk, who, entry), release.pictures(), sheets)


async def exhibit(visit: Visit, entry: int) -> None:
    """Draw it."""
    styles("records.css")
    theme.tag("a", "← All releases").props('href="/releases"').classes("d-back")
    read = await visit.call(partial(seen, visit.desk), entry)
    listed, certificate = read.listed, read.certificate
    with ui.element("div").classes("d-row d-title"):
        theme.heading(listed.name, 2).classes("d-release-name")
    with ui.element("p").classes("d-meta d-above"):
        theme.tag("span", about(listed))
        theme.tag("span", prices.when(listed.time)).classes("d-muted")
        theme.tag("span", f"{prices.price(listed.loss)}, paid once").classes("d-muted")
        theme.tag("span", f"entry {listed.entry}").classes("d-muted")
    with theme.card(read.release.heading):
        gallery(read.pictures)
        if read.sheets:
            _sheets(read.sheets)
    readings(visit, listed.entry, read.release)
    _promise(certificate)
    _files(listed.entry, certificate)
    _check(listed.entry, certificate)
    if visit.custodian and read.sheets:
        registering(visit, listed.entry, list(read.sheets))


# tables ---------------------------------------------------------------------------------------------------------------


def _sheets(sheets: dict[str, Sheet]) -> None:
    with ui.element("details").classes("d-experts"):
        theme.tag("summary", "As a table")
        shown = list(sheets.values())
        theme.one_of(dict(enumerate(sheets)), "Table", "d-which", lambda place: _sheet(shown[place]))


def _sheet(sheet: Sheet) -> None:
    keys = len(sheet.headings) - sheet.numbers
    looks = ["" if place < keys else "d-num" for place in range(len(sheet.headings))]
    with theme.table(zip(sheet.headings, looks, strict=True), "The counts"):
        for row in sheet.rows:
            with ui.element("tr"):
                for each, look in zip(row, looks, strict=True):
                    with theme.tag("td", each.text).classes(look):
                        if each.beside:
                            theme.tag("span", f" {each.beside}").classes("d-pm")
    if sheet.size > len(sheet.rows):
        theme.note(f"The first {len(sheet.rows)} of {sheet.size:,} rows. The file has all.")


# what belongs to it ---------------------------------------------------------------------------------------------------


def _promise(certificate: Certificate) -> None:
    with theme.card("What is promised"):
        theme.tag("p", certificate.promise).classes("d-promise")
        theme.muted("Whatever else is told about the same people adds to this. The ledger keeps the sum.")
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
        theme.muted("The folder has everything that anybody needs to read it and to check it.")
        with ui.element("div").classes("d-row"):
            theme.go("Download everything", "download", downloads.release_address(entry)).props("download")
        with ui.element("ul").classes("d-file-list"):
            for name, words in downloads.contents(certificate).items():
                with ui.element("li"):
                    theme.link(name, downloads.release_address(entry, name)).props("download")
                    theme.tag("span", words).classes("d-muted d-small")


def _check(entry: int, certificate: Certificate) -> None:
    with theme.card("Check it, and cite it"):
        theme.tag("p", "Unpack the download, on any machine that has discreet and no access to this one:")
        theme.copied(f"discreet release verify {downloads.folder_name(entry)}", "Copy the command")
        theme.note("Every table is computed anew, and the proof is followed to a signed head of the ledger.")
        theme.heading("How to cite", 3)
        theme.copied(certificate.how_to_cite, "Copy the citation")
        with ui.element("div").classes("d-tools"):
            theme.go("Proof", "verified", f"/ledger?entry={entry}", "flat dense")


def registered(desk: Desk, who: Visitor, entry: int, table: str, name: str) -> None:
    """Add a table of a release as a public one. It blocks."""
    rows = desk.release(who, entry).to_arrow()[table]
    desk.custody(who).add(name, rows, Declared(public=True))


def registering(visit: Visit, entry: int, tables: Sequence[str]) -> None:
    """A card to do so."""
    with theme.card("Make it a public table"):
        theme.muted("Everybody who may ask can then ask about it in SQL, and questions about it are free.")
        with ui.element("div").classes("d-asking"):
            which = ui.select(list(tables), value=tables[0], label="Table").props("outlined dense options-dense")
            which.classes("d-some").set_visibility(len(tables) > 1)
            name = ui.input("Its name in SQL", value=f"released_{entry}").props("outlined dense maxlength=64")
            name.classes("d-some")
            button = ui.button("Make it public").props("outline no-caps")
        box = theme.live()

    async def done() -> None:
        called = str(name.value or "").strip()
        with theme.busy(button), trouble(box, foot=UNCHANGED):
            await visit.call(partial(registered, visit.desk), entry, str(which.value), called)
            with box, ui.element("div").classes("d-good").props('role="status"'):
                theme.tag("strong", f"{called} is a public table now.")
                with ui.element("p"):
                    theme.link("Ask about it", f"/ask?sql=SELECT%20*%20FROM%20{called}")

    button.on_click(done)
    name.on("keydown.enter", done)


def readings(visit: Visit, entry: int, release: Release) -> None:
    """The card with both questions."""
    if not release.sides:
        return
    with theme.card("Ask it, free"):
        _how_many(visit, entry, release.sides[:_AXES])
        if rest := len(release.sides[_AXES:]):
            theme.muted(f"{rest:,} more columns can be asked about with the downloaded release.")
        if release.line is not None:
            _up_to(visit, entry, release.line)


def _how_many(visit: Visit, entry: int, axes: tuple[Side, ...]) -> None:
    theme.muted("How many records have these values? What you leave empty may be anything.")
    with ui.element("div").classes("d-asking"):
        fields = {axis.column: _Between(axis) if isinstance(axis, NumberAxis) else _Among(axis) for axis in axes}
        button = ui.button("Count").props("unelevated no-caps")
    box = ui.element("div").classes("d-read").props('aria-live="polite"')

    async def count() -> None:
        with theme.busy(button), trouble(box, foot=_FREE):
            asked = {name: field.value() for name, field in fields.items() if not field.empty}
            estimate = await visit.call(lambda who: visit.desk.release(who, entry).range(**asked))
            with box:
                _shown(estimate, "records")

    button.on_click(count)
    for field in fields.values():
        field.entered(count)
        field.changed(box.clear)  # what was counted is of other values


def _up_to(visit: Visit, entry: int, column: str) -> None:
    theme.tag("p", f"Up to which {column} does a share of all records lie? Half of them: the median.").classes(
        "d-muted d-next"
    )
    with ui.element("div").classes("d-asking"):
        field = ui.input("Share in per cent", value="50").props("outlined dense inputmode=decimal maxlength=24")
        field.classes("d-end")
        button = ui.button("Find the value").props("outline no-caps")
    box = ui.element("div").classes("d-read").props('aria-live="polite"')

    async def find() -> None:
        with theme.busy(button), trouble(box, foot=_FREE):
            level = exact(_text(field), "share") / 100
            if not 0 < level < 1:
                raise Refusal(f"a share lies between 0 and 100 per cent, got {spoken(100 * level)}")
            estimate = await visit.call(lambda who: visit.desk.release(who, entry).quantile(level))
            with box:
                _shown(estimate, "")

    button.on_click(find)
    field.on("keydown.enter", find)
    field.on_value_change(box.clear)


def _shown(estimate: Estimate, unit: str) -> None:
    error = estimate.error
    if not estimate.barred:
        theme.number(plain(estimate.value), unit=unit)
        theme.note(_NO_ERROR)
    elif error is None:
        low, high = estimate.interval()
        theme.number(plain(estimate.value), unit=unit)
        theme.note(f"The truth lies from {plain(low)} to {plain(high)}, {_OFTEN}")
    else:
        theme.number(rounded(estimate.value, error), rounded(error_bar(error, estimate.value), error), unit)
        theme.note(f"The truth lies within it {_OFTEN}")
    if estimate.note:
        theme.note(theme.sentence(estimate.note))


class _Between:
    """From one number to before another."""

    def __init__(self, axis: NumberAxis) -> None:
        ends = [plain(float(axis.edges[place])) for place in (0, -1)]
        with ui.element("fieldset").classes("d-asked-of"):
            theme.tag("legend", axis.column)
            self._fields = [
                ui.input(label, placeholder=end).props("outlined dense inputmode=decimal maxlength=40").classes("d-end")
                for label, end in zip(("from", "to before"), ends, strict=True)
            ]
        for field, label in zip(self._fields, ("from", "to before"), strict=True):
            field.props["aria-label"] = f"{axis.column} {label}"
        self._column = axis.column

    @property
    def empty(self) -> bool:
        return not any(map(_text, self._fields))

    def value(self) -> object:
        low, high = (exact(text, self._column) if (text := _text(field)) else None for field in self._fields)
        return low, high

    def entered(self, done: object) -> None:
        for field in self._fields:
            field.on("keydown.enter", done)  # type: ignore[arg-type]

    def changed(self, done: Callable[[], object]) -> None:
        for field in self._fields:
            field.on_value_change(done)


class _Among:
    """Some keys."""

    def __init__(self, axis: KeyAxis) -> None:
        self._axis = axis
        with ui.element("fieldset").classes("d-asked-of"):
            theme.tag("legend", axis.column)
            if len(axis) <= _CHOICES:
                names = {place: label or "(empty)" for place, label in enumerate(axis.labels)}
                self._choice: ui.select | None = ui.select(names, multiple=True, label="any of", value=[])
                self._choice.props("outlined dense options-dense use-chips").classes("d-some")
                self._choice.props["aria-label"] = f"{axis.column}: any of"
            else:
                self._choice = None
                self._field = ui.input("one key").props("outlined dense maxlength=400").classes("d-some")
                self._field.props["aria-label"] = f"{axis.column}: one key"

    @property
    def empty(self) -> bool:
        return not self._choice.value if self._choice is not None else not _text(self._field)

    def value(self) -> object:
        if self._choice is not None:
            return [self._axis.values[place] for place in self._choice.value]
        if (text := _text(self._field)) not in self._axis.labels:
            raise Refusal(f"there is no key {text!r} of {self._axis.column!r}", hint="write it as it is declared")
        return [self._axis.values[self._axis.labels.index(text)]]

    def entered(self, done: object) -> None:
        if self._choice is None:
            self._field.on("keydown.enter", done)  # type: ignore[arg-type]

    def changed(self, done: Callable[[], object]) -> None:
        (self._field if self._choice is None else self._choice).on_value_change(done)


def _text(field: ui.input) -> str:
    return str(field.value or "").strip()


def gallery(shown: Sequence[Picture]) -> None:
    """The first picture, and a list to choose another one from."""
    if not shown:
        return
    names = {place: picture.title for place, picture in enumerate(shown)}
    theme.one_of(names, "Show", "d-which", lambda place: _picture(shown[place], named=len(shown) == 1), told=True)


def _picture(picture: Picture, *, named: bool) -> None:
    with ui.element("figure").classes("d-picture"):
        if named:  # else the list says it
            theme.tag("p", picture.title).classes("d-picture-name")
        # ours: whatever a person wrote is escaped in them
        ui.html(picture.wide, sanitize=False).classes("d-wide-picture")
        ui.html(picture.narrow, sanitize=False).classes("d-narrow-picture")
        theme.tag("figcaption", picture.note).classes("d-muted d-small")


def address(entry: int) -> str:
    """Where a release is."""
    return f"/releases?entry={entry}"


def about(listed: PaidRelease) -> str:
    """What a release counts."""
    columns, tables = ", ".join(listed.wish.columns), ", ".join(listed.tables)
    titles = {kind.name: kind.title for kind in kinds()}
    return f"{titles.get(listed.wish.kind, listed.wish.kind)} of {columns}, from {tables}"
