"""`discreet audit`: run a mechanism many times and try to refute what it claims."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import Many, NoHome, new_app, option
from discreet.cli.options import pairs as column_values
from discreet.cli.printing import AsFormat, Format, busy, print_csv, print_json
from discreet.errors import Refusal
from discreet.exact import exact

if TYPE_CHECKING:
    from discreet.audit import OneRun, Verdict
    from discreet.privacy.loss import Loss

app = new_app()

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


@app.command()
def audit(  # noqa: PLR0913  # one option for each thing that an audit rests on
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="MODULE:NAME, zoo:NAME, 'sql:SELECT …', model:ESTIMATOR, or the name of a registered mechanism.",
        ),
    ],
    *,
    claim: Annotated[
        str | None, option("epsilon=E[,delta=D]", "The claim to refute; also rho=R[,delta=D], mu=M.")
    ] = None,
    pair: Annotated[
        list[str] | None,
        option("JSON", "Neighbouring inputs [LEFT, RIGHT]. May be given again."),
    ] = None,
    parameters: Annotated[str | None, option("JSON", "The parameters of a registered mechanism or a model.")] = None,
    samples: Annotated[int | None, option("N", "How often to run it on each input: 100000, or 200 questions.")] = None,
    alpha: Annotated[str, option("A", "The risk of refuting a true claim.")] = "1e-6",
    budget: Annotated[str | None, option("60s", "Go on with ever more runs until refuted, or for so long.")] = None,
    time: Annotated[bool, typer.Option("--time", help="Look at how long each run takes, too; needs --budget.")] = False,
    canaries: Annotated[int, option("N", "How many people a model is trained on, or half of them.")] = 200,
    rows: Annotated[Path | None, option("FILE", "Made-up rows for a question; the file's name is the table's.")] = None,
    unit: Annotated[str | None, option("COLUMN", "Whose the rows are.")] = None,
    without: Annotated[str | None, option("WHOM", "The unit whose rows the neighbouring table lacks.")] = None,
    max_rows: Annotated[int | None, option("N", "As `discreet add` declares it.")] = None,
    max_groups: Annotated[int | None, option("N", "As `discreet add` declares it.")] = None,
    bounds: Annotated[Many, option("COL=LO:HI", "As `discreet add` declares them.")] = None,
    keys: Annotated[Many, option("COL=a,b,c", "As `discreet add` declares them.")] = None,
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """Try to refute a claim of privacy by running the mechanism.

    It prints what is proven, the event that proves it, and what could have been detected. Not refuted is not proven.
    """
    from discreet.cli.audit_target import Rows, opened

    promise = claimed(claim)
    if target.startswith("model:"):
        _print_one_run(_trained(target, parameters, promise, canaries, alpha), form)
        return
    pairs = [pair_of(text) for text in pair] if pair else None
    declared = declarations(max_rows, max_groups, bounds, keys)
    runs = (200 if target.startswith("sql:") else 100_000) if samples is None else samples
    source = Rows(rows, unit, without, declared)
    with busy("running the mechanism"), opened(target, parameters, source, promise) as mechanism:
        verdict = _tried(
            mechanism, pairs, promise, runs, alpha, None if budget is None else _read_seconds(budget), time
        )
    _print(verdict, form)


def _tried(  # noqa: PLR0913, PLR0917  # the options, as they were read
    mechanism: Callable[..., Any],
    pairs: list[tuple[Any, Any]] | None,
    promise: Loss | None,
    runs: int,
    alpha: str,
    seconds: float | None,
    time: bool,  # noqa: FBT001
) -> Verdict:
    from discreet.audit import Timed, audit_until, insist
    from discreet.audit import audit as tried

    if time:
        if seconds is None:
            raise Refusal("--time needs --budget: such an audit goes on until it refutes", hint="say --budget 60s")
        return audit_until(Timed(mechanism), pairs, promise, seconds=seconds, samples=runs, alpha=alpha)
    if seconds is None:
        return tried(mechanism, pairs, promise, samples=runs, alpha=alpha)
    return insist(mechanism, pairs, promise, seconds=seconds, samples=runs, alpha=alpha)


def declarations(max_rows: int | None, max_groups: int | None, bounds: Many, keys: Many) -> dict[str, Any]:
    """What is declared of made-up rows, for `Declared`."""
    from discreet.cli.tables import interval_of, listed

    return {
        "max_rows": max_rows,
        "max_groups": max_groups,
        "bounds": {column: interval_of(column, text) for column, text in column_values(bounds, "--bounds")},
        "keys": {column: listed(text) for column, text in column_values(keys, "--keys")},
    }


def _trained(target: str, parameters: str | None, promise: Loss | None, canaries: int, alpha: str) -> OneRun:
    from discreet.audit import audit_model, one_hot
    from discreet.cli.audit_target import estimator

    if promise is None:
        raise Refusal("a model needs a claim", hint="say --claim epsilon=1, as it is trained with")
    if not 2 <= canaries <= 4096:
        raise Refusal(f"--canaries takes from 2 to 4096, got {canaries}")
    rows, labels = one_hot(canaries)
    model = estimator(target.partition(":")[2], parameters)
    with busy("training the model"):
        return audit_model(model, rows, labels, promise, alpha=alpha)


def claimed(text: str | None) -> Loss | None:
    """A loss from `epsilon=1,delta=1e-6`, `rho=0.5` or `mu=1`."""
    if text is None:
        return None
    from discreet.privacy.loss import Approximate, Concentrated, Pure
    from discreet.privacy.tradeoff import Gaussian

    given = [part.partition("=")[::2] for part in text.split(",")]
    values = {name.strip(): exact(value.strip(), name.strip()) for name, value in given}
    kinds: dict[frozenset[str], Callable[[], Loss]] = {
        frozenset({"epsilon"}): lambda: Pure(values["epsilon"]),
        frozenset({"epsilon", "delta"}): lambda: Approximate(values["epsilon"], values["delta"]),
        frozenset({"rho"}): lambda: Concentrated(values["rho"]),
        frozenset({"rho", "delta"}): lambda: Concentrated(values["rho"], values["delta"]),
        frozenset({"mu"}): lambda: Gaussian.of(values["mu"]),
    }
    if frozenset(values) not in kinds or len(given) != len(values):
        raise Refusal(f"--claim cannot be read, got {text!r}", hint="write epsilon=1,delta=1e-6 or rho=0.5 or mu=1")
    return kinds[frozenset(values)]()


def pair_of(text: str) -> tuple[Any, Any]:
    """Two inputs, as JSON."""
    from discreet.cli.audit_target import read_json

    both = read_json(text, "--pair")
    if not isinstance(both, list) or len(both) != 2:
        raise Refusal(f"--pair takes two inputs, got {text}", hint="write --pair '[0, 1]'")
    return both[0], both[1]


def _read_seconds(text: str) -> float:
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if parts is None:
        raise Refusal(f"--budget takes a time, got {text!r}", hint="write 60s, 5m or 1h")
    return float(parts[1]) * _SECONDS[parts[2]]


def _below(x: Fraction) -> float:
    near = float(x)
    return near if Fraction(near) <= x else math.nextafter(near, 0.0)


def _print(verdict: Verdict, form: Format) -> None:
    if form is Format.table:
        typer.echo(str(verdict))
        return
    cells: dict[str, object] = {
        "claim": str(verdict.claim),
        "refuted": verdict.refuted,
        "epsilon": _below(verdict.epsilon),
        "promised": float(verdict.promised),
        "delta": float(verdict.delta),
        "detectable": None if verdict.detectable is None else float(verdict.detectable),
        "alpha": float(verdict.alpha),
        "event": verdict.event,
        "neighbours": verdict.pair.why,
        "left": str(verdict.left),
        "right": str(verdict.right),
        "samples": verdict.samples,
        "silent": list(verdict.silent),
        "coins": verdict.coins,
    }
    if form is Format.json:
        print_json(cells)
    else:
        print_csv(list(cells), [list(cells.values())])


def _print_one_run(run: OneRun, form: Format) -> None:
    if form is Format.table:
        typer.echo(str(run))
        return
    cells: dict[str, object] = {
        "claim": str(run.claim),
        "refuted": run.refuted,
        "epsilon": _below(run.epsilon),
        "delta": float(run.delta),
        "detectable": _below(run.detectable),
        "alpha": float(run.alpha),
        "canaries": run.canaries,
        "guesses": run.guesses,
        "right": run.right,
    }
    if form is Format.json:
        print_json(cells)
    else:
        print_csv(list(cells), [list(cells.values())])
