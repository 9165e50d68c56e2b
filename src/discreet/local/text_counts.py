"""Which texts people hold, read from a tally afterwards: candidates that somebody names, or those that are found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from discreet.errors import Refusal
from discreet.local.decode import decode
from discreet.local.estimate import Reals
from discreet.local.hitters import HeavyHitters
from discreet.local.matching_pursuit import Pursuit
from discreet.local.rappor import Rappor
from discreet.local.report_sums import Tally
from discreet.local.reporter import Reporter
from discreet.local.sketch import Sketch


@dataclass(frozen=True)
class Held:
    """A text, its estimated share of the people who reported, and the standard error of that.

    `chance` is how likely any of all texts that were tried would seem as common if nobody held it (Bonferroni), for a
    list made without the reports. The
    shares of all texts that are shown lie between their `low` and `high` together, 19 times in 20: which are shown
    depends on chance, so no one of them is to be trusted alone.
    """

    text: str
    share: float
    error: float
    chance: float
    low: float
    high: float


def speaks_of_texts(client: Reporter) -> TypeGuard[Rappor | Sketch | HeavyHitters]:
    """Whether its reports tell of texts, of which nobody has a list when people are asked."""
    return isinstance(client, (Rappor, Sketch, HeavyHitters))


def held(client: Reporter, tally: Tally, candidates: Iterable[str] = ()) -> tuple[Held, ...]:
    """The largest share first. Nothing but the tally is used: it costs no privacy, however often it is done."""
    named = tuple(dict.fromkeys(candidates))
    if not speaks_of_texts(client):
        raise Refusal(f"{type(client).__name__} does not tell of texts", hint="its results are complete without names")
    if isinstance(client, HeavyHitters):
        if named:
            raise Refusal("this mechanism finds texts itself", hint="name no candidates")
        found = client.estimate(tally)
        return _listed(found.values, found.shares, found.errors, found.chances, found.interval())
    if not named:
        raise Refusal(f"{type(client).__name__} is read with a list of candidates", hint="name the texts to look for")
    if isinstance(client, Rappor):
        fit = decode(client, tally, named)
        return _listed([str(value) for value in fit.values], fit.shares, fit.errors, fit.chances, fit.interval())
    guess = client.estimate(tally, named)
    shares, errors = guess.counts / guess.people, guess.errors / guess.people
    cells = client.functions.table(client.digests(named), client.rows)
    low, high = guess.interval(together=True)
    ends = low / guess.people, high / guess.people
    return _listed(named, shares, errors, Pursuit.of(client.kept(tally), cells).chances, ends)


def _listed(
    texts: Sequence[str], shares: Reals, errors: Reals, chances: Reals, ends: tuple[Reals, Reals]
) -> tuple[Held, ...]:
    rows = zip(texts, *(column.tolist() for column in (shares, errors, chances, *ends)), strict=True)
    return tuple(sorted((Held(*row) for row in rows), key=lambda one: -one.share))
