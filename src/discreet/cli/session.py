"""`discreet session`: interactive mechanisms, opened at a price, asked one question at a time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import HOME, AtHome, new_app, option, pairs
from discreet.cli.printing import AsFormat, Format, print_json, print_rows
from discreet.errors import Refusal

if TYPE_CHECKING:
    from discreet.curator.paid_mechanism import SessionStatus
    from discreet.curator.sessions import OpenSession, Sessions

app = new_app()

_HEAD = ["session", "mechanism", "tables", "price", "by", "used", "closed"]
Entry = Annotated[int, typer.Argument(metavar="SESSION", help="Its number, as `open` printed it.")]


@app.command("open")
def open_(
    mechanism: Annotated[str, typer.Argument(help="The name of a registered mechanism, sparse-vector say.")],
    tables: Annotated[list[str], typer.Argument(metavar="TABLE...", help="What it is to be asked about.")],
    *,
    param: Annotated[
        list[str] | None, option("NAME=VALUE", "A parameter of the mechanism. May be given again.")
    ] = None,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Open a session at its whole price. Its number stands alone on the last line.

    With --param epsilon=E a mechanism that can splits E as is best for it.
    """
    opened = _sessions(home).open(_mechanism(mechanism, param), *tables)
    _print([opened.status], form)
    if form is Format.table:
        typer.echo(opened.entry)


@app.command()
def ask(  # noqa: PLR0913  # one option for each thing that may be said
    session: Entry,
    sql: Annotated[str, typer.Argument(help="A SELECT of one COUNT or SUM.")],
    *,
    number: Annotated[int | None, option("N", "Which question it is; asked again, it is answered as before.")] = None,
    max_rows: Annotated[int | None, option("N", "Rows of one unit that count.")] = None,
    guess: Annotated[int | None, option("N", "What you take the number to be, for a mechanism that checks it.")] = None,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Ask the next question of a session. It was paid when the session was opened."""
    opened = _sessions(home).one(session)
    answer = opened.mechanism.told(opened.ask(sql, number=number, max_rows=max_rows, guess=guess))
    if form is Format.json:
        print_json({"answer": answer, **_plain(opened.status)})
    else:
        typer.echo(json.dumps(answer))
        _say(opened)


@app.command()
def show(session: Entry, *, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """Everything that a session answered, free, and what is left of it."""
    opened = _sessions(home).one(session)
    if form is Format.json:
        print_json({**_plain(opened.status), "answers": opened.told})
        return
    rows = [[place, json.dumps(answer)] for place, answer in enumerate(opened.told, start=1)]
    print_rows(form, ["question", "answer"], rows)
    _say(opened)


@app.command("list")
def list_(*, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """All sessions, the latest first, what is used of each, and why it is closed."""
    _print(_sessions(home).all(), form)


@app.command()
def close(session: Entry, *, home: AtHome = HOME) -> None:
    """Give up what is left of a session, and write into the ledger what it answered. Nothing is paid back."""
    opened = _sessions(home).one(session)
    opened.close()
    _say(opened)


def _sessions(home: Any) -> Sessions:  # noqa: ANN401  # a path; typer has read it
    from discreet.curator import Curator

    return Curator(home).paid_sessions()


def _mechanism(name: str, param: list[str] | None) -> Any:  # noqa: ANN401  # which mechanism, the name says
    from discreet.mechanisms import rebuilt
    from discreet.mechanisms.registry import known

    values = {key: _value(text) for key, text in pairs(param, "--param")}
    split = getattr(known(name), "of", None)
    if "epsilon" in values and split is not None:
        try:
            return split(**values)
        except TypeError as wrong:
            raise Refusal(f"{name} cannot be made so: {wrong}", hint="see docs/mechanisms.md") from None
    return rebuilt(name, values)


def _value(text: str) -> Any:  # noqa: ANN401  # what the mechanism takes
    """Whole numbers, true, false and what is written as JSON; else text, as rationals are: 1/3, 0.1."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, float) else value


def _say(opened: OpenSession[Any]) -> None:
    status = opened.status
    left = f"; closed: {status.closed}" if status.closed else ""
    typer.echo(f"{', '.join(map(str, status.used))}{left}", err=True)


def _plain(status: SessionStatus) -> dict[str, object]:
    from discreet.curator.explain import said

    used = [{"name": each.name, "used": each.used, "most": each.most} for each in status.used]
    return {**status.__dict__, "mechanism": dict(status.mechanism), "loss": said(status.loss), "used": used}


def _print(every: list[SessionStatus], form: Format) -> None:
    from discreet.curator.explain import said

    if form is Format.json:
        print_json([_plain(status) for status in every])
        return
    rows = [
        [
            status.entry,
            status.mechanism["name"],
            ",".join(status.tables),
            said(status.loss),
            status.principal,
            ", ".join(map(str, status.used)),
            status.closed,
        ]
        for status in every
    ]
    print_rows(form, _HEAD, rows, ["session"])
