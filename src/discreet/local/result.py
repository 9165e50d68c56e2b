"""What a task came to: estimates with standard errors, what was promised, how many reports; frozen and signed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.errors import Refusal
from discreet.ledger.entry import Plain, canonical
from discreet.ledger.head import public_part, strict_json
from discreet.local.estimate import Estimate, Frequencies
from discreet.local.seal import genuine
from discreet.local.shuffle import Shuffler
from discreet.local.tally import Tally
from discreet.local.task import Task

FORMAT = "discreet-results-1"
_MARK = b"discreet-results\0"


@dataclass(frozen=True)
class Results:
    """The document, as JSON without floats: `estimates` has their texts, `tally` all that they were made from."""

    body: Mapping[str, Any]

    @property
    def signed(self) -> bytes:
        """The bytes under the signature."""
        return _MARK + canonical(cast("Plain", {k: v for k, v in self.body.items() if k != "signature"}))

    @property
    def document(self) -> bytes:
        """What is handed out, to the byte."""
        return canonical(cast("Plain", dict(self.body)))

    @property
    def tally(self) -> Tally:
        """From which anybody can estimate again."""
        return Tally.decode(bytes.fromhex(self.body["tally"]))

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
            "relation": "replace one person's value; that a person took part is not hidden",
            "local": {"epsilon": str(promise.local.epsilon)},
            "shuffled": {
                "epsilon": str(promise.shuffled.epsilon),
                "delta": str(promise.shuffled.delta),
                "honest": promise.honest,
            },
        },
        "estimates": estimates(task, tally),
        "tally": tally.encode().hex(),
        "key": public_part(key),
    }
    return Results({**body, "signature": key.sign(Results(body).signed).hex()})


def read_results(document: bytes) -> Results:
    """The results in a document, if it is spelled as we do and signed by the key that it names."""
    try:
        body = strict_json(document.decode())
    except ValueError:
        body = None
    found = Results(body) if isinstance(body, dict) and body.get("format") == FORMAT else None
    if found is None or found.document != document or not found.genuine():
        raise Refusal("these are no signed results")
    return found


def estimates(task: Task, tally: Tally) -> list[dict[str, str]]:
    """For each label its count, or for each number its mean, with standard error and a 0.95 interval, as texts."""
    found = cast("Any", task.client).estimate(tally)
    if isinstance(found, Frequencies):
        low, high = found.interval()
        rows = zip(task.domain, found.counts, found.errors, low, high, strict=True)
        return [
            {"label": label, "count": _text(n), "error": _text(e), "low": _text(a), "high": _text(b)}
            for label, n, e, a, b in rows
        ]
    means = found if isinstance(found, tuple) else (found,)
    return [
        _mean(mean) for mean in means if isinstance(mean, Estimate)
    ]  # else the tally is decoded by whoever knows how


def _mean(mean: Estimate) -> dict[str, str]:
    low, high = mean.interval()
    return {"mean": _text(mean.value), "error": _text(mean.error), "low": _text(low), "high": _text(high)}


def _text(number: Any) -> str:  # noqa: ANN401  # whatever a float reads
    return repr(float(number))
