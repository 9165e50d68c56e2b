"""Results of a task: estimates with standard errors, what was promised, how many reports; frozen and signed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.errors import Refusal
from discreet.exact import shown
from discreet.ledger.entry_kinds import Plain, canonical
from discreet.ledger.signed_head import genuine, public_part, strict_json
from discreet.local.frequencies import Frequencies, Reals
from discreet.local.frequency_oracle import Oracle
from discreet.local.heavy_hitters import HeavyHitters
from discreet.local.local_mechanism import Reporter, Tally, label
from discreet.local.matching_pursuit import Pursuit
from discreet.local.mean import MeanEstimate
from discreet.local.rappor import Rappor
from discreet.local.rappor_decoder import decode
from discreet.local.sketch import Sketch
from discreet.mechanisms import rebuilt
from discreet.survey.shuffle import Shuffler
from discreet.survey.task import Task
from discreet.transport.device_client import Courier
from discreet.transport.signed_task import signed_bytes
from discreet.transport.signing_keys import Handover, follows

FORMAT = "discreet-results-2"
FIRST = "discreet-results-1"  # says nothing of dishonest reports, and error bars of means are of an earlier kind
_MARK = b"discreet-results\0"
_NEAR = 1e-6  # of numbers that two machines computed from one tally


@dataclass(frozen=True)
class Results:
    """The document, as JSON without floats: `estimates` has their texts, `tally` all that they were made from."""

    body: Mapping[str, Any]

    @property
    def signed(self) -> bytes:
        """The bytes under the signature."""
        return signed_bytes(_MARK, self.body)

    @property
    def document(self) -> bytes:
        """What is handed out, to the byte."""
        return canonical(cast("Plain", dict(self.body)))

    @property
    def tally(self) -> Tally:
        """From which anybody can estimate again."""
        return Tally.decode(bytes.fromhex(self.body["tally"]))

    @property
    def client(self) -> Reporter:
        """The mechanism whose reports they are, as the tally names it."""
        try:
            told: Any = strict_json(self.tally.client)
            client = rebuilt(told["name"], told["parameters"])
        except (ValueError, TypeError, KeyError):
            client = None
        if not isinstance(client, Reporter):
            raise Refusal(f"the tally is of no client's reports: {shown(self.tally.client)}")
        return client

    @property
    def estimates(self) -> list[dict[str, str]]:
        """The rows of `estimates`; of a document of the first format, made again from its tally."""
        told: list[dict[str, str]] = self.body["estimates"]
        if self.body["format"] == FORMAT:
            return told
        return estimates(self.client, [row.get("label", "") for row in told], self.tally) if told else []

    @property
    def dishonest(self) -> int | None:
        """How many dishonest reports the task allows for; None if the document does not say."""
        return self.body["honesty"]["dishonest"] if self.body["format"] == FORMAT else None

    @property
    def check(self) -> Frequencies | None:
        """Of a task with a list of answers: what its tally says, its `total` and `chance` among it."""
        client = self.client
        return client.estimate(self.tally) if isinstance(client, Oracle) else None

    def texts(self, candidates: Iterable[str] = ()) -> tuple[Held, ...]:
        """Of a task that asked for texts: which of these people hold, or which were found, the largest share first."""
        return held(self.client, self.tally, candidates)

    def genuine(self) -> bool:
        """Whether the signature is the key's."""
        key, said = self.body.get("key"), self.body.get("signature")
        return isinstance(key, str) and isinstance(said, str) and genuine(key, said, self.signed)


def results(task: Task, tally: Tally, collected: str, rejected: Mapping[str, int], key: Ed25519PrivateKey) -> Results:
    """Estimates of the reports of a task, if there are enough of them. The same arguments give the same bytes."""
    promise = Shuffler(task.minimum, task.dishonest).promise(task.client, tally.people, each=task.reports)
    body: dict[str, Any] = {
        "format": FORMAT,
        "id": task.id,
        "version": task.version,
        "task": task.digest.hex(),
        "collected": collected,
        "reports": tally.people,
        "rejected": dict(rejected),
        "promise": {
            "relation": _relation(task),
            "local": {"epsilon": str(promise.local.epsilon)},
            "shuffled": {
                "epsilon": str(promise.shuffled.epsilon),
                "delta": str(promise.shuffled.delta),
                "honest": promise.honest,
            },
        },
        "estimates": estimates(task.client, task.domain, tally, task.dishonest),
        "honesty": honesty(task.client, tally, task.dishonest),
        "tally": tally.encode().hex(),
        "key": public_part(key),
    }
    return Results({**body, "signature": key.sign(Results(body).signed).hex()})


def _relation(task: Task) -> str:
    """Between which lives of a person the promise is."""
    several = isinstance(task.client, Rappor) and task.reports > 1  # of one permanent response, as long as it is one
    return (
        "replace one person's value; that a person took part is not hidden; several versions of one question together"
        f" have the local promise only{'; that a text changed is not hidden' if several else ''}"
    )


def read_results(
    document: bytes, *, task: Task | None = None, key: str | None = None, handovers: Sequence[Handover] = ()
) -> Results:
    """The results in a document, if it is spelled as we do and signed by the key that it names.

    With `task` they must be of this very document, with enough reports, and their estimates must follow from their
    tally; their key must be the task's, or one that it handed over to, and so must it be with a `key` that is known
    from elsewhere.
    """
    try:
        body = strict_json(document.decode())
    except ValueError:
        body = None
    results = Results(body) if isinstance(body, dict) and body.get("format") in (FIRST, FORMAT) else None
    if results is None or results.document != document or not results.genuine() or not _shaped(results.body):
        raise Refusal(f"these {len(document)} bytes are no signed results")
    known = [each for each in (key, task.key if task else None) if each is not None]
    if not all(follows(each, results.body["key"], handovers) for each in known):
        raise Refusal(f"these results are signed by a stranger, {results.body['key']}", hint="ask who runs the survey")
    if task is not None and not _of(task, results):
        raise Refusal(
            f"these are the results of another task than {task.id}", hint="ask for those of the document that you have"
        )
    return results


def fetched(courier: Courier, task: Task) -> Results:
    """What a task came to: signed by whoever signed the task, or whoever they handed over to, and of this task."""
    return read_results(courier.results(task.id, task.version), task=task, handovers=courier.handovers())


def _shaped(body: Mapping[str, Any]) -> bool:
    kinds: dict[str, type] = dict.fromkeys(("format", "id", "task", "collected", "tally", "key", "signature"), str)
    kinds |= {"version": int, "reports": int, "rejected": dict, "promise": dict, "estimates": list}
    if body["format"] == FORMAT:
        kinds["honesty"] = dict
    whole = set(body) == set(kinds) and all(type(body[name]) is kind for name, kind in kinds.items())
    if not whole or any(type(row) is not dict for row in body["estimates"]):
        return False
    extra = body.get("honesty", {"dishonest": 0})
    if type(extra.get("dishonest")) is not int or not set(extra) <= {"dishonest", "total", "chance"}:
        return False
    if any(type(extra[name]) is not str for name in extra if name != "dishonest"):
        return False
    match body["promise"]:
        case {"local": {"epsilon": str()}, "shuffled": {"epsilon": str(), "delta": str(), "honest": int()}}:
            return all(type(number) is int for number in body["rejected"].values())
    return False


def _of(task: Task, results: Results) -> bool:
    """Whether they speak of this document, and are made of enough reports of its mechanism, as their tally says."""
    try:
        tally = results.tally
    except (ValueError, Refusal):
        return False
    named = (results.body["id"], results.body["version"], results.body["task"])
    same = named == (task.id, task.version, task.digest.hex()) and tally.client == label(task.mechanism)
    enough = Shuffler(task.minimum, task.dishonest).ready(tally.people) and results.body["reports"] == tally.people
    promise, local = results.body["promise"], task.reports * task.client.privacy
    told = (promise["local"]["epsilon"], promise["shuffled"]["honest"])
    promised = told == (str(local.epsilon), tally.people - task.dishonest)
    return same and enough and promised and _follow(results, task, tally)


def _follow(results: Results, task: Task, tally: Tally) -> bool:
    """Whether what is said follows from the tally. Of the first format that is not asked of error bars."""
    told, made = results.body["estimates"], estimates(task.client, task.domain, tally, task.dishonest)
    if results.body["format"] == FORMAT:
        return _alike(told, made) and _alike([results.body["honesty"]], [honesty(task.client, tally, task.dishonest)])
    named = ("label", "count", "mean")
    told, made = ([{name: row[name] for name in named if name in row} for row in rows] for rows in (told, made))
    return _alike(told, made)


def _alike(told: Sequence[Mapping[str, Any]], made: Sequence[Mapping[str, Any]]) -> bool:
    """Whether rows say the same: labels and whole numbers to the letter, others as other machines compute them."""
    if [set(row) for row in told] != [set(row) for row in made]:
        return False
    pairs = [(name, row[name], own[name]) for row, own in zip(told, made, strict=True) for name in own]
    return all(a == b or (name != "label" and _close(a, b)) for name, a, b in pairs)


def _close(told: object, made: object) -> bool:
    try:
        both = isinstance(told, str) and isinstance(made, str)
        return both and math.isclose(float(cast("str", told)), float(cast("str", made)), rel_tol=_NEAR, abs_tol=_NEAR)
    except ValueError:
        return False


def estimates(
    client: Reporter, labels: Sequence[str], tally: Tally, dishonest: int | None = None
) -> list[dict[str, str]]:
    """For each label its count, or for each number its mean, with standard error and a 0.95 interval, as texts.

    `shift` is how far so many dishonest reports can move it at most, in people or in the unit of the mean.
    """
    if speaks_of_texts(client):
        return []  # they are named afterwards, by whoever reads the tally
    try:
        guess = cast("Any", client).estimate(tally)
    except Refusal:
        return []  # too few for an error bar: the tally is told all the same
    if isinstance(guess, Frequencies):
        low, high = guess.interval()
        shift = {} if dishonest is None else {"shift": _text(guess.people * guess.shift(dishonest))}
        rows = zip(labels, guess.counts, guess.errors, low, high, strict=True)
        return [
            {"label": label, "count": _text(n), "error": _text(e), "low": _text(a), "high": _text(b), **shift}
            for label, n, e, a, b in rows
        ]
    means = guess if isinstance(guess, tuple) else (guess,)
    return [_mean(mean, dishonest) for mean in means if isinstance(mean, MeanEstimate)]


def _mean(mean: MeanEstimate, dishonest: int | None) -> dict[str, str]:
    low, high = mean.interval()
    shift = {} if dishonest is None else {"shift": _text(mean.shift(dishonest))}
    return {"mean": _text(mean.value), "error": _text(mean.error), "low": _text(low), "high": _text(high), **shift}


def honesty(client: Reporter, tally: Tally, dishonest: int) -> dict[str, Any]:
    """How many dishonest reports were declared and, where shares add up to 1, what these do and how likely that is."""
    said: dict[str, Any] = {"dishonest": dishonest}
    if isinstance(client, Oracle):
        guess = client.estimate(tally)
        said["total"] = _text(guess.total)
        if guess.chance is not None:
            said["chance"] = _text(guess.chance)
    return said


def _text(number: Any) -> str:  # noqa: ANN401  # whatever a float reads
    return repr(float(number))


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
            raise Refusal(
                f"{type(client).__name__} finds texts itself, and {len(named)} were named", hint="name no candidates"
            )
        hitters = client.estimate(tally)
        return _listed(hitters.values, hitters.shares, hitters.errors, hitters.chances, hitters.interval())
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
