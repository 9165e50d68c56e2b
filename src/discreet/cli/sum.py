"""`discreet sum`: sums that nobody can look into: asked, joined, sent and read; a demonstration and a planner."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import HOME, AtHome, NoHome, new_app, option
from discreet.cli.printing import AsFormat, Format, print_rows

if TYPE_CHECKING:
    from discreet.aggregate import Forecast
    from discreet.aggregate.sum_aggregator import SumStanding
    from discreet.desk import Visitor
    from discreet.desk.sums import Sums

app = new_app()

_WORDS = {
    "diluted": "needs everybody; a few add noise",
    "gaussian": "needs everybody; all add noise; cheapest over many epochs",
    "masked": "five messages each; masks of people who fail come off",
    "tree": "one message; a block of people is lost with each failure",
    "tree-gaussian": "the same, with Gaussian noise",
    "local": "randomized response: no cryptography, nobody needs to be honest",
    "shuffled": "randomized bits that somebody mixes",
    "curator": "for comparison: somebody whom all trust",
}


@app.command()
def demo(
    *,
    http: Annotated[
        bool, typer.Option("--http", help="With a server and houses that are processes; a minute and more.")
    ] = False,
    _home: NoHome = None,
) -> None:
    """A street of meters that this program makes up: sums are read, a second number is refused, two houses fail."""
    from tempfile import TemporaryDirectory

    if http:
        from discreet.cli.sum_demo import tour as over_http
    from discreet.aggregate.meter_demo import tour

    with TemporaryDirectory() as folder:
        for line in over_http(Path(folder)) if http else tour(folder):
            typer.echo(line)


@app.command()
def plan(  # noqa: PLR0913  # one option for each thing that an error depends on
    *,
    people: Annotated[int, option("N", "How many take part.")],
    failures: Annotated[int, option("K", "How many of them fail.")] = 0,
    honest: Annotated[str, option("SHARE", "Of people who do not work with the aggregator.")] = "1",
    limit: Annotated[int, option("X", "The largest value of one person.")] = 1,
    epsilon: Annotated[str, option("E", "The ε of one epoch.")] = "1",
    delta: Annotated[str, option("D", "The δ of one epoch.")] = "1e-6",
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """How far off each scheme's sum will be, the best first, and what a trusted curator's would be."""
    from discreet.aggregate.scheme_comparison import Forecast, curator_deviation
    from discreet.aggregate.scheme_comparison import plan as forecasts

    found = forecasts(people, failures, epsilon, delta, limit=limit, honest=honest, mixer=True)
    rows: list[tuple[object, ...]] = [
        (one.scheme, _rounded(one, form), one.remark or _WORDS[one.scheme])
        for one in (*found, Forecast("curator", curator_deviation(epsilon, limit)))
    ]
    print_rows(form, ("scheme", "deviation", "remark"), rows, right=("deviation",))


def _rounded(one: Forecast, form: Format) -> float | str | None:
    if one.deviation is None or form is not Format.table:
        return one.deviation
    return f"{one.deviation:,.1f}"


Which = Annotated[str, typer.Argument(metavar="ID", help="The id of a sum, or how it begins.")]
Site = Annotated[str, typer.Option("--site", metavar="URL", help="Where people reach the server.")]
Link = Annotated[str, typer.Argument(metavar="LINK", help="What `discreet sum invite` printed.")]
Device = Annotated[
    Path,
    typer.Option(
        "--device",
        envvar="DISCREET_DEVICE",
        metavar="DIR",
        help="Where this device keeps its key and what it told. Never copy it, never put it back.",
        show_default=True,
    ),
]
_HERE, _DEVICE = "http://127.0.0.1:8410", Path("discreet-device")


@app.command()
def new(  # noqa: PLR0913  # each is an option
    question: str,
    *,
    limit: Annotated[int, option("X", "The largest number of one person, or the longest vector.")],
    rho: Annotated[str, option("R", "The price of one epoch, in zCDP.")],
    epochs: Annotated[int, option("N", "How often people send.")] = 1,
    failures: Annotated[str, option("SHARE", "Of people who may fail in an epoch.")] = "0.2",
    colluders: Annotated[str, option("SHARE", "Of people who may work with the aggregator.")] = "0.2",
    dimension: Annotated[int, option("N", "How many numbers everybody sends; 0 is one, from 0 to X.")] = 0,
    patience: Annotated[int, option("SECONDS", "How long a step waits for everybody.")] = 60,
    days: Annotated[int, option("N", "How long it is open.")] = 30,
    home: AtHome = HOME,
) -> None:
    """Ask people to join a sum. Its id stands alone on the last line."""
    from discreet.aggregate.sum_plan import SumPlan
    from discreet.exact import exact

    parts = exact(failures, "failures"), exact(colluders, "colluders")
    plan = SumPlan(question, limit, exact(rho, "rho"), epochs, *parts, dimension, patience)
    sums, who = _sums(home)
    name = sums.made(who, plan, days)
    typer.echo("invite people with discreet sum invite; when they have joined, discreet sum start", err=True)
    typer.echo(name)


@app.command()
def invite(sum_: Which, people: int, *, site: Site = _HERE, home: AtHome = HOME) -> None:
    """Links for so many people, one a line. Each lets one device in, and is kept nowhere."""
    from discreet.aggregate.sum_courier import SUMS

    sums, who = _sums(home)
    name = sums.one(who, sum_).id
    for token in sums.invited(who, name, people):
        typer.echo(f"{site.rstrip('/')}{SUMS}/{name}#{token}")


@app.command()
def start(sum_: Which, *, home: AtHome = HOME) -> None:
    """Sign the task among all who joined, and begin; again when more have joined, for its next version."""
    sums, who = _sums(home)
    task = sums.started(who, sum_)
    numbers = task.parameters
    typer.echo(
        f"sum {task.id}, version {task.version}: {len(task.people)} people, {numbers['minimum']} have to survive, "
        f"up to {numbers['colluders']} may work with the aggregator"
    )


@app.command("list")
def list_(*, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """All sums, the latest to close first."""
    sums, who = _sums(home)
    rows = [[each.id, each.plan.question, _state(each), each.joined, each.closes] for each in sums.listed(who)]
    print_rows(form, ["sum", "question", "state", "joined", "closes"], rows, right=["joined"])


@app.command()
def show(sum_: Which, *, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """What a sum asks and promises, and how it stands."""
    from discreet.aggregate import MaskedSum

    sums, who = _sums(home)
    standing = sums.one(who, sum_)
    plan, task = standing.plan, standing.task
    facts: dict[str, object] = {
        "sum": standing.id,
        "question": plan.question,
        "state": _state(standing),
        "joined": standing.joined,
        "limit": plan.limit,
        "numbers": plan.dimension or 1,
        "price": f"rho {plan.rho} an epoch, {plan.epochs} epochs",
        "closes": standing.closes,
    }
    if task is not None and isinstance(task.sum, MaskedSum):
        facts |= {
            "version": task.version,
            "people": len(task.people),
            "survivors": f"at least {task.sum.minimum}",
            "colluders": f"at most {task.sum.colluders}",
            "error": f"within {task.sum.noise.error()} of the sum, 19 times in 20, if nobody fails",
            "key": task.key,
        }
    print_rows(form, ["fact", "value"], [[name, str(value)] for name, value in facts.items()])


@app.command()
def close(sum_: Which, *, home: AtHome = HOME) -> None:
    """Take nothing more. What was added up stays."""
    sums, who = _sums(home)
    typer.echo(f"sum {sums.closed(who, sum_)} is closed")


@app.command()
def results(sum_: Which, *, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """What each epoch came to: each number is within `error` of the sum over `people`, 19 times in 20.

    That holds if all of them added their noise. Of an epoch without a sum it says why.
    """
    sums, who = _sums(home)
    rows: list[list[object]] = []
    for one in sums.outcomes(who, sum_):
        if one.refused:
            rows.append([one.version, one.epoch, None, None, None, one.people, one.refused])
        for place, number in enumerate(one.total):
            total = round(float(number), 1) if form is Format.table else float(number)
            rows.append([one.version, one.epoch, place, total, one.error, one.people, ""])
    names = ["version", "epoch", "number", "total", "error", "people", "remark"]
    print_rows(form, names, rows, right=["total", "error", "people"])


@app.command()
def join(link: Link, *, device: Device = _DEVICE, _home: NoHome = None) -> None:
    """Let the aggregator write this device's key into its next task. Nothing is told by that."""
    from discreet.aggregate.sum_courier import SumCourier
    from discreet.aggregate.sum_device import SumDevice

    site, name, token = _read(link)
    joined = SumDevice(device).join(SumCourier(site), name, token)
    typer.echo(f"joined; {joined} people have so far")


@app.command()
def send(  # each is an option
    link: Link,
    value: Annotated[list[int], typer.Argument(metavar="NUMBER...", help="One's own; of a vector all of them.")],
    *,
    most: Annotated[str, option("R", "The most in zCDP that this device tells one collector in all.")] = "3/8",
    wait: Annotated[int, option("SECONDS", "How long to wait where nothing happens.")] = 600,
    device: Device = _DEVICE,
    _home: NoHome = None,
) -> None:
    """Take part in the epoch that is under way: send a number, and stay until the sum is read."""
    from discreet.aggregate.sum_courier import SumCourier
    from discreet.aggregate.sum_device import SumDevice
    from discreet.errors import Refusal
    from discreet.privacy import Concentrated

    site, name, _ = _read(link)
    steps = SumDevice(device).taking_part(
        SumCourier(site), name, value[0] if len(value) == 1 else value, most=Concentrated(most)
    )
    since, pause = time.monotonic(), _SHORT
    while True:
        try:
            step = next(steps)
        except StopIteration as over:
            total = ", ".join(f"{float(number):,.1f}" for number in over.value.total)
            typer.echo(f"epoch {over.value.epoch}: the sum of {over.value.people} people is {total}, with noise")
            return
        if step is not None:
            typer.echo(f"said {step}", err=True)
            since, pause = time.monotonic(), _SHORT
        elif time.monotonic() - since > wait:
            raise Refusal(f"nothing happened for {wait} seconds", hint="this epoch is lost for this device")
        else:
            time.sleep(pause)
            pause = min(2 * pause, _LONG)


_SHORT, _LONG = 0.05, 2.0  # seconds between two looks how the sum stands


def _read(link: str) -> tuple[str, str, str]:
    """Site, id and token of a link."""
    from discreet.aggregate.sum_courier import SUMS
    from discreet.errors import Refusal

    address, _, token = link.partition("#")
    site, slash, name = address.partition(f"{SUMS}/")
    if not slash:
        raise Refusal("expected a link as discreet sum invite prints it", hint=f"as in {_HERE}{SUMS}/ID#TOKEN")
    return site, name, token


def _sums(home: Path) -> tuple[Sums, Visitor]:
    """The sums of a home, and whoever holds it, who may do everything with them."""
    from discreet.desk import HOME as HOLDER
    from discreet.desk import Desk
    from discreet.desk.sums import Sums

    return Sums(Desk(home)), HOLDER


def _state(standing: SumStanding) -> str:
    if standing.closed:
        return "closed"
    if standing.task is None:
        return "people join"
    return "over" if standing.epoch >= standing.task.epochs else f"epoch {standing.epoch}"
