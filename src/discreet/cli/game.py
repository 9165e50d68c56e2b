"""`discreet game`: Alice tosses a coin, runs a mechanism on one of two inputs, and Bob says which. You may be Bob."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import NoHome, new_app, option
from discreet.cli.printing import AsFormat, Format, busy, print_csv, print_json
from discreet.errors import Refusal

if TYPE_CHECKING:
    from discreet.audit import Game
    from discreet.mechanisms.mechanism import Pair
    from discreet.privacy.loss import Loss

app = new_app()
_BY_HAND = 20  # rounds, if nothing is said
_MOST = 100  # letters of what Bob sees


@app.command()
def game(  # noqa: PLR0913  # the rules
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="MODULE:NAME, zoo:NAME, or the name of a registered mechanism.")
    ],
    *,
    claim: Annotated[str | None, option("epsilon=E[,delta=D]", "The promise that limits Bob.")] = None,
    pair: Annotated[str | None, option("JSON", "Neighbouring inputs [LEFT, RIGHT].")] = None,
    parameters: Annotated[str | None, option("JSON", "The parameters of a registered mechanism.")] = None,
    rounds: Annotated[int | None, option("N", "How many rounds: 100000, or 20 by hand.")] = None,
    yourself: Annotated[
        bool, typer.Option("--yourself", help="You are Bob: say left or right, round by round.")
    ] = False,
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """Play the game of Alice and Bob: who sees one output and says on which of two inputs it was made.

    It prints how often Bob won, between which limits his chance lies, and what the promise lets anybody win.
    """
    from discreet.audit import play
    from discreet.audit.claim import neighbouring
    from discreet.cli.audit import claimed, pair_of
    from discreet.cli.audit_target import mechanism as named

    mechanism = named(target, parameters)
    promise: Loss | None = claimed(claim) or getattr(mechanism, "privacy", None)
    two = neighbouring(mechanism, None if pair is None else [pair_of(pair)])[0]
    if rounds is not None and rounds < 1:
        raise Refusal(f"--rounds takes a whole number from 1 on, got {rounds}")
    if yourself:
        result = _by_hand(mechanism, two, promise, rounds or _BY_HAND)
    else:
        with busy("playing"):
            result = play(mechanism, two, promise, rounds=rounds or 100_000, practice=rounds or 100_000)
    _print(result, form)


def _by_hand(mechanism: Callable[..., Any], two: Pair[Any], promise: Loss | None, rounds: int) -> Game:
    from discreet.audit import dealt
    from discreet.audit.game import scored

    typer.echo(f"Left is {_short(two.left)}, right is {_short(two.right)}: {two.why}.", err=True)
    typer.echo("Type l or r for each output; q to stop.", err=True)
    wins = played = 0
    while played < rounds:
        one = dealt(mechanism, two)
        typer.echo(f"{played + 1}: {_short(one.output)} ", err=True, nl=False)
        said = typer.get_text_stream("stdin").readline()
        answer = said.strip().lower()
        if not said or answer in {"q", "quit"}:
            break
        if answer not in {"l", "left", "r", "right"}:
            typer.echo("l or r, please; this round is not counted", err=True)
            continue
        won = answer.startswith("r") == one.right
        played, wins = played + 1, wins + won
        typer.echo(f"It was {'right' if one.right else 'left'}: {wins} of {played}.", err=True)
    if not played:
        raise Refusal("no round was played", hint="say l or r")
    return scored(two, "by hand", wins, played, promise)


def _short(output: object) -> str:
    text = str(output)
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"


def _print(result: Game, form: Format) -> None:
    if form is Format.table:
        typer.echo(str(result))
        return
    cells: dict[str, object] = {
        "rounds": result.rounds,
        "wins": result.wins,
        "low": float(result.low),
        "high": float(result.high),
        "allowed": None if result.allowed is None else float(result.allowed),
        "broken": result.broken,
        "confidence": float(result.confidence),
        "guess": result.guess,
        "neighbours": result.pair.why,
    }
    if form is Format.json:
        print_json(cells)
    else:
        print_csv(list(cells), [list(cells.values())])
