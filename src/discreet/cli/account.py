"""`discreet account`: what many mechanisms lose together, and what each of many may lose."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Annotated

import typer

from discreet.cli.options import NoHome, new_app, option
from discreet.cli.printing import AsFormat, Format, busy, print_csv, print_json, print_table
from discreet.errors import Refusal
from discreet.exact import exact

app = new_app()


def _uses(metavar: str, text: str) -> typer.models.OptionInfo:
    return option(metavar, f"{text} May be given several times.")


@app.callback(invoke_without_command=True)
def account(  # noqa: PLR0913  # one option for each kind of noise
    context: typer.Context,
    *,
    gaussian: Annotated[list[str] | None, _uses("SIGMAxK", "Gaussian noise of σ/sensitivity, K times.")] = None,
    laplace: Annotated[list[str] | None, _uses("EPSxK", "Laplace noise of ε each, K times.")] = None,
    discrete_gaussian: Annotated[list[str] | None, _uses("SIGMAxK", "Gaussian noise on whole numbers.")] = None,
    discrete_laplace: Annotated[list[str] | None, _uses("EPSxK", "Laplace noise on whole numbers.")] = None,
    pure: Annotated[list[str] | None, _uses("EPSxK", "Any ε-private mechanism, K times.")] = None,
    sampled_gaussian: Annotated[list[str] | None, _uses("RATE:SIGMAxK", "Gaussian noise on Poisson samples.")] = None,
    delta: Annotated[str | None, option("D", "The δ at which ε is wanted.")] = None,
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """What many mechanisms lose together: every theorem's total, tightest first.

    All totals are upper bounds by theorems. The continuous kinds are ideal; what this package draws is the discrete
    noise. The line of the privacy loss distribution also trusts what docs/proofs/profile.md says of floats.
    """
    kinds = (gaussian, laplace, discrete_gaussian, discrete_laplace, pure, sampled_gaussian)
    if context.invoked_subcommand is not None:
        if any(kinds) or delta is not None:
            raise Refusal(
                f"the options of `account` mean nothing to {context.invoked_subcommand}", hint="leave them out"
            )
        return
    if delta is None:
        raise Refusal("ε depends on δ, and no δ was given", hint="say which, as in --delta 1e-6")
    from discreet.privacy.account import Omission
    from discreet.privacy.account import account as totals

    silent: list[Omission] = []
    with busy("adding up"):
        losses = totals(
            gaussian=_read(gaussian, "gaussian"),
            laplace=_read(laplace, "laplace"),
            discrete_gaussian=_read(discrete_gaussian, "discrete-gaussian"),
            discrete_laplace=_read(discrete_laplace, "discrete-laplace"),
            pure=_read(pure, "pure"),
            sampled_gaussian=[_read_sampled(text) for text in sampled_gaussian or ()],
            delta=delta,
            omitted=silent.append,
        )
    for one in silent:
        typer.echo(f"{one.theorem} does not apply: {one.reason}", err=True)
    if form is Format.json:
        lines = [{"theorem": total.theorem, "epsilon": _above(total.epsilon)} for total in losses]
        print_json({"delta": float(exact(delta, "delta")), "totals": lines})
    elif form is Format.csv:
        print_csv(["epsilon", "theorem"], [[_above(total.epsilon), total.theorem] for total in losses])
    else:
        print_table(
            ["epsilon", "theorem"], [[_digits(total.epsilon), total.theorem] for total in losses], right=["epsilon"]
        )


@app.command()
def lifetime(
    *,
    databases: Annotated[int, option("K", "How many databases a person is in, over a life.")],
    epsilon: Annotated[str, option("E", "The ε of all of them together.")],
    delta: Annotated[str, option("D", "The δ of all of them together.")],
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """What ε each of many databases may use for a lifetime of (ε, δ), by each theorem, largest first."""
    from discreet.privacy.account import lifetime as allowances

    with busy("looking for the largest ε"):
        each_may = allowances(databases, epsilon, delta)
    if form is Format.json:
        lines = [{"theorem": a.theorem, "each": _below(a.each), "total": _above(a.total)} for a in each_may]
        asked = {"lifetime": float(exact(epsilon, "epsilon")), "delta": float(exact(delta, "delta"))}
        print_json({"databases": databases, **asked, "allowances": lines})
    elif form is Format.csv:
        print_csv(["each", "total", "theorem"], [[_below(a.each), _above(a.total), a.theorem] for a in each_may])
    else:
        rows = [[f"1/{_digits(1 / a.each)}", _digits(a.total), a.theorem] for a in each_may]
        print_table(["each", "together", "theorem"], rows, right=["each", "together"])


def _read(texts: Sequence[str] | None, option: str) -> list[tuple[str, int]]:
    return [_read_one(text, option) for text in texts or ()]


def _read_one(text: str, option: str) -> tuple[str, int]:
    """`10x100` is the number 10, a hundred times; `10` is once."""
    number, _, times = text.partition("x")
    if not (times or "1").isdecimal() or not number:
        hint = "write 10x100 for 10, a hundred times"
        raise Refusal(f"--{option} takes a number and how often, got {text!r}", hint=hint)
    return number, int(times or "1")


def _read_sampled(text: str) -> tuple[str, str, int]:
    rate, colon, rest = text.partition(":")
    if not colon:
        raise Refusal(f"--sampled-gaussian takes RATE:SIGMAxK, got {text!r}", hint="write 0.01:1x10000")
    return rate, *_read_one(rest, "sampled-gaussian")


def _above(x: Fraction) -> float:
    """Fifteen digits, rounded up: this package reads a float by its decimal text, so that is what must not be less."""
    return float(_rounded(x, 15, ROUND_CEILING))


def _below(x: Fraction) -> float:
    return float(_rounded(x, 15, ROUND_FLOOR))


def _digits(x: Fraction) -> str:
    """Six digits, rounded up."""
    return f"{_rounded(x, 6, ROUND_CEILING).normalize():f}"


def _rounded(x: Fraction, digits: int, rounding: str) -> Decimal:
    return Context(prec=digits, rounding=rounding).divide(Decimal(x.numerator), Decimal(x.denominator))
