"""Ledger page: its signed head, who keeps it, and proofs of what is in it."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from discreet.console import prices, theme
from discreet.console.layout import page, styles, trouble
from discreet.console.pages import Visit
from discreet.curator.purchase import PastPayment
from discreet.errors import Refusal
from discreet.ledger import Head, read_head
from discreet.ledger.home_ledger import Standing
from discreet.ledger.verify import Extension
from discreet.ledger.verify import Receipt as Proof

_LATEST = 100  # payments to choose from
_LONGEST = 60  # characters of a question in a list
_WHY = """Every payment, answer and budget is an entry in this ledger, and each entry seals all before it.
The head is a short, signed text that stands for the whole ledger as it is now. Keep a copy where the keeper of this \
server cannot reach it: in your notes, in a paper, with a friend.
If anybody rewrites the ledger, takes a payment out or rolls it back, it no longer goes on from the head that you \
kept. Everybody who has that head can check it."""
_KNOWN = (
    "The newest head is kept outside this home. What does not go on from it is refused: an older ledger, and a copy "
    "that nobody adopted. Nobody notices if the whole machine is set back, unless a witness is elsewhere."
)
_PRACTICE = "This home is for practice: its head is kept nowhere."
_CHECKED = (
    "each entry stands in its place and is written in its one spelling",
    "each seal follows from the entry and the one before it",
    "every price was added up again, and no budget or own limit was ever exceeded",
    "every payment was made by somebody who might ask, for rows that were there",
)


@page("/ledger")
async def ledger(visit: Visit) -> None:
    """The page."""
    styles("records.css")
    theme.lead("Every payment is written down in a chain. Whoever keeps its head notices if it is rewritten.")
    head = await visit.call(visit.desk.head)
    _head(head, visit)
    with trouble(ui.element("div")):  # they may be being asked for somebody else
        _witnesses(await visit.call(visit.desk.witnesses))
    _kept(visit)
    _proof(await visit.call(visit.desk.history, most=_LATEST), visit)


# the head -------------------------------------------------------------------------------------------------------------


def _head(first: Head, visit: Visit) -> None:
    heads = [first]
    with theme.card("The head"):
        shown = ui.element("div")
        with ui.element("div").classes("d-row"):
            verify = ui.button("Verify", icon="verified").props("unelevated no-caps")
            keep = ui.button("Download the head", icon="download").props("flat no-caps")
        box = theme.live()
        with ui.element("details").classes("d-experts"):
            theme.tag("summary", "Why keep a head?")
            for sentence in _WHY.splitlines():
                theme.tag("p", sentence)

    async def verified() -> None:
        with theme.busy(verify), trouble(box):
            extension = await visit.call(visit.desk.verified, heads[-1])
            with box:
                _verified(extension)
            heads.append(extension.head)
            _drawn(extension.head, shown)

    verify.on_click(verified)
    keep.on_click(lambda: _saved(heads[-1].text(), f"head-{heads[-1].size}.json"))
    _drawn(first, shown)


def _drawn(head: Head, shown: ui.element) -> None:
    shown.clear()
    with shown, theme.facts():
        theme.fact("Entries", f"{head.size:,}")
        _copied("Root", head.root)
        theme.fact("Signed", prices.when(head.time))
        _copied("Key", head.key)
        _copied("All of it", head.text())


def _copied(name: str, text: str) -> None:
    with ui.element("div").classes("d-fact"):
        theme.tag("dt", name)
        with ui.element("dd").classes("d-copied"):
            theme.tag("span", text).classes("d-hash")
            theme.copy(text, f"Copy: {name}")


def _verified(newer: Extension) -> None:
    with ui.element("div").classes("d-good").props('role="status"'):
        theme.tag("strong", "The ledger holds.")
        theme.tag(
            "p", f"All {newer.head.size:,} entries were read and computed again on {prices.when(newer.head.time)}:"
        )
        with ui.element("ul"):
            for each in _CHECKED:
                theme.tag("li", each)
            came = newer.head.size - newer.size
            since = f", and {came:,} came since" if came else ", and none came since"
            theme.tag("li", f"it begins with the {newer.size:,} entries that this page showed before{since}")


def _saved(text: str, name: str) -> None:
    ui.download.content(f"{text}\n", name, "application/json")


# who keeps heads ------------------------------------------------------------------------------------------------------


def _witnesses(standings: list[Standing]) -> None:
    with theme.card("Who knows the head"):
        theme.muted(_KNOWN if standings else _PRACTICE)
        with theme.facts():
            for each in standings:
                known = "knows nothing yet" if each.head is None else f"{each.head.size:,} entries"
                when = "" if each.head is None else f", on {prices.when(each.head.time)}"
                theme.fact(each.where, each.trouble or f"{known}{when}")


# a head that somebody kept --------------------------------------------------------------------------------------------


def _kept(visit: Visit) -> None:
    with theme.card("Check a head that you kept"):
        field = ui.textarea(label="The head, as you downloaded or copied it").props("outlined autogrow")
        field.classes("full-width")
        button = ui.button("Does the ledger go on from it?").props("outline no-caps")
        box = theme.live()

    async def check() -> None:
        with theme.busy(button), trouble(box):
            kept = read_head(str(field.value or "").strip())
            newer = await visit.call(visit.desk.extension, kept)
            with box, ui.element("div").classes("d-good").props('role="status"'):
                theme.tag("strong", "Yes.")
                theme.tag(
                    "p",
                    f"The {newer.head.size:,} entries of now begin with the {kept.size:,} that you knew on "
                    f"{prices.when(kept.time)}, unchanged.",
                )
                theme.tag("p", "To check this without us, with the file of the head that you kept:")
                theme.copied(f"discreet ledger check extension.json --head {_file(kept)}", "Copy the command")
                _saving("Download extension.json", lambda: _saved(newer.text(), "extension.json"))

    button.on_click(check)


def _file(head: Head) -> str:
    return f"head-{head.size}.json"


def _saving(words: str, save: Callable[[], None]) -> None:
    ui.button(words, icon="download", on_click=save).props("flat no-caps")


# the proof of an entry ------------------------------------------------------------------------------------------------


def _proof(receipts: list[PastPayment], visit: Visit) -> None:
    with theme.card("Prove that an entry is in it"):
        words = (
            "any entry but how a token is recognised"
            if visit.custodian
            else "your own payments, and answers about your tables"
        )
        theme.muted(f"A proof shows an entry word for word, and nothing of any other. You may read {words}.")
        with ui.element("div").classes("d-prove"):
            number = ui.number(label="Entry", min=1, precision=0, format="%d").props("outlined dense")
            choices = {each.answer or each.entry: _choice(each) for each in receipts[:_LATEST]}
            chosen = ui.select(choices, label="or one of the latest answers").props("outlined dense options-dense")
            chosen.classes("d-pick").set_visibility(bool(choices))
            button = ui.button("Prove it").props("outline no-caps")
        box = theme.live()

    async def prove() -> None:
        with theme.busy(button), trouble(box):
            if not number.value:
                raise Refusal("name an entry", hint="its number stands in the history")
            receipt = await visit.call(visit.desk.proof, int(number.value))
            if receipt is None:
                who = "entries about tokens stay in the home" if visit.custodian else "a custodian may read more"
                raise Refusal(f"entry {int(number.value)} is not yours to read", hint=who)
            with box:
                _proved(receipt)

    chosen.on_value_change(lambda change: number.set_value(change.value))
    button.on_click(prove)
    number.on("keydown.enter", prove)
    asked = ui.context.client.request.query_params.get("entry", "")
    if asked.isascii() and asked.isdigit() and len(asked) <= 15:
        number.value = int(asked)
        ui.timer(0.1, prove, once=True)


def _choice(receipt: PastPayment) -> str:
    words = " ".join(receipt.sql.split())
    short = words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"
    return f"{receipt.answer or receipt.entry} · {short}"


def _proved(proof: Proof) -> None:
    name = f"receipt-{proof.entry.number}.json"
    with ui.element("div").classes("d-good").props('role="status"'):
        theme.tag("strong", f"Entry {proof.entry.number} is in the ledger.")
        theme.tag(
            "p", f"It was written on {prices.when(proof.entry.time)}, under a head of {proof.head.size:,} entries."
        )
    theme.tag("pre", proof.text()).classes("d-code d-proof").props('tabindex="0" aria-label="The proof"')
    with ui.element("div").classes("d-row"):
        _saving(f"Download {name}", lambda: _saved(proof.text(), name))
        _saving(f"Download its {_file(proof.head)}", lambda: _saved(proof.head.text(), _file(proof.head)))
    theme.tag("p", "To check it without us, on any machine that has discreet and no access to this one:")
    theme.copied(f"discreet ledger check {name} --head {_file(proof.head)}", "Copy the command")
    theme.note("If you kept only the key, check it against that:")
    theme.copied(f"discreet ledger check {name} --key {proof.head.key}", "Copy the command")
