"""`discreet audit`: run a mechanism many times and try to refute what it claims."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import NoHome, new_app, option
from discreet.cli.printing import AsFormat, Format, busy, print_csv, print_json
from discreet.errors import Refusal
from discreet.exact import exact

if TYPE_CHECKING:
    from discreet.audit import Verdict
    from discreet.privacy.loss import Loss

app = new_app()

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


@app.command()
def audit(  # noqa: PLR0913  # one option for each thing that an audit rests on
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="MODULE:NAME, zoo:NAME, or the name of a registered mechanism, with --parameters."
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
    parameters: Annotated[str | None, option("JSON", "The parameters of a registered mechanism.")] = None,
    samples: Annotated[int, option("N", "How often to run it on each input.")] = 100_000,
    alpha: Annotated[str, option("A", "The risk of refuting a true claim.")] = "1e-6",
    budget: Annotated[str | None, option("60s", "Go on with ever more runs until refuted, or for so long.")] = None,
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """Try to refute a claim of privacy by running the mechanism.

    It prints what is proven, the event that proves it, and what could have been detected. Not refuted is not proven.
    """
    from discreet.audit import audit as tried
    from discreet.audit import insist

    mechanism, promise = _mechanism(target, parameters), _claimed(claim)
    pairs = [_read_pair(text) for text in pair] if pair else None
    with busy("running the mechanism"):
        if budget is None:
            verdict = tried(mechanism, pairs, promise, samples=samples, alpha=alpha)
        else:
            verdict = insist(mechanism, pairs, promise, seconds=_read_seconds(budget), samples=samples, alpha=alpha)
    _print(verdict, form)


def _mechanism(target: str, parameters: str | None) -> Callable[..., Any]:
    module, colon, name = target.partition(":")
    if not colon:
        return _registered(target, parameters)
    if parameters is not None:
        raise Refusal(f"--parameters is for registered mechanisms, and {target!r} is not a name of one")
    if module == "zoo":
        from discreet.audit import ZOO

        if name not in ZOO:
            raise Refusal(f"the zoo has no {name!r}", hint=f"it has {', '.join(ZOO)}")
        return ZOO[name]
    sys.path.insert(0, "")  # the folder one stands in, as `python -m` does
    try:
        named = getattr(import_module(module), name)
    except (ImportError, AttributeError) as missing:
        raise Refusal(f"cannot find {target!r}: {missing}", hint="write MODULE:NAME, as in survey:count") from None
    if not callable(named) or isinstance(named, type):
        raise Refusal(f"expected {target!r} to be a mechanism or a function, got {type(named).__name__}")
    return named  # type: ignore[no-any-return]


def _registered(name: str, parameters: str | None) -> Callable[..., Any]:
    from discreet.mechanisms.registry import rebuilt

    for room in ("mechanisms", "local", "release"):
        import_module(f"discreet.{room}")  # they register themselves
    values = _json(parameters, "--parameters") if parameters else {}
    if not isinstance(values, dict):
        raise Refusal(f"--parameters takes a JSON object, got {parameters}")
    return rebuilt(name, values)  # type: ignore[no-any-return]


def _claimed(text: str | None) -> Loss | None:
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


def _read_pair(text: str) -> tuple[Any, Any]:
    both = _json(text, "--pair")
    if not isinstance(both, list) or len(both) != 2:
        raise Refusal(f"--pair takes two inputs, got {text}", hint="write --pair '[0, 1]'")
    return both[0], both[1]


def _json(text: str, option: str) -> Any:  # noqa: ANN401  # whatever the mechanism takes
    try:
        return json.loads(text)
    except ValueError:
        raise Refusal(f"{option} takes JSON, got {text!r}") from None


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
    }
    if form is Format.json:
        print_json(cells)
    else:
        print_csv(list(cells), [list(cells.values())])
