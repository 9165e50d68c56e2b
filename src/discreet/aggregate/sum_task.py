"""Signed task of a sum: what is added up, among whom, with which noise; everybody's public keys stand in it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Self

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.aggregate.cancelling_keys import agreed
from discreet.aggregate.diluted_noise import DilutedGeometric
from discreet.aggregate.gaussian_shares import GaussianShares
from discreet.aggregate.masked_sum import MaskedSum
from discreet.aggregate.stream_sum import StreamSum
from discreet.errors import Refusal
from discreet.exact import exact, shown
from discreet.ledger.entry_kinds import Plain
from discreet.ledger.signed_head import is_hex
from discreet.transport.signed_task import SignedTask, numbered

FORMAT = "discreet-sum-1"
_LONGEST = 2000  # characters of what is said to people
_NUMBERS = {  # of each scheme: what stands in the document beside the price
    "diluted": ("epsilon", "delta", "honest"),
    "gaussian": ("rho", "honest"),
    "masked": ("rho", "minimum", "colluders", "threshold"),
    "vector": ("rho", "minimum", "colluders", "threshold", "dimension"),
}


@dataclass(frozen=True)
class SumTask(SignedTask):
    """What is added up, in how many epochs, by which scheme: diluted, gaussian, masked or vector.

    `people` are public keys in hex: where everybody is needed, those of X25519, the aggregator's first; of a masked sum
    and one of vectors those that sign. `parameters` are numbers as texts. Whoever takes part checks that their own key
    is among these.
    """

    mark: ClassVar[bytes] = b"discreet-sum\0"

    id: str
    version: int
    question: str
    scheme: str
    parameters: dict[str, str] = field(hash=False)
    people: tuple[str, ...]
    limit: int
    epochs: int
    opens: str
    closes: str
    key: str = ""
    signature: str = ""

    def __post_init__(self) -> None:
        self._check_frame()
        numbered(self.limit, "limit", 1)
        numbered(self.epochs, "epochs", 1)
        if not self.question.strip() or len(self.question) > _LONGEST:
            raise Refusal(f"expected a question of at most {_LONGEST} characters")
        wanted = _NUMBERS.get(self.scheme)
        if wanted is None:
            raise Refusal(f"expected a scheme of {', '.join(_NUMBERS)}, got {shown(self.scheme)}")
        if sorted(self.parameters) != sorted(wanted):
            raise Refusal(f"{self.scheme} has the parameters {', '.join(wanted)}, got {shown(list(self.parameters))}")
        if len(set(self.people)) != len(self.people) or not all(is_hex(one, 32) for one in self.people):
            raise Refusal("expected people as public keys that differ, each of 64 small hexadecimal digits")
        for name, text in self.parameters.items():
            if str(exact(text, name)) != text:  # one spelling, and so one digest
                raise Refusal(f"expected {name} as {exact(text, name)}, got {shown(text)}")
        self._noise()

    @property
    def body(self) -> dict[str, Plain]:
        """The document as JSON."""
        said: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        return {"format": FORMAT, **said, "people": list(self.people), "parameters": dict(self.parameters)}

    @classmethod
    def parsed(cls, body: Any) -> Self | None:  # noqa: ANN401  # any JSON
        """The task in a JSON value; None if it is of another kind or shape."""
        names = {one.name for one in fields(cls)}
        if not isinstance(body, dict) or set(body) != {"format", *names} or body["format"] != FORMAT:
            return None
        texts = (*(body[name] for name in ("id", "question", "scheme", "opens", "closes", "key", "signature")),)
        parameters, people = body["parameters"], body["people"]
        if not isinstance(parameters, dict) or not isinstance(people, list):
            return None
        if not all(isinstance(text, str) for text in (*texts, *parameters.values(), *people)):
            return None
        given: dict[str, Any] = {name: body[name] for name in names}
        return cls(**{**given, "people": tuple(people)})

    @cached_property
    def sum(self) -> StreamSum | MaskedSum:
        """What people run. Its name is the digest of the document, which no other task has."""
        noise = self._noise()
        if isinstance(noise, MaskedSum):
            return noise
        return StreamSum(self.digest.hex(), noise, self.epochs)

    def exponent(self, own: X25519PrivateKey) -> int:
        """That of the holder of a key, who is one of the people or the aggregator, where everybody is needed."""
        if self.scheme in ("masked", "vector"):
            raise Refusal("people of a masked sum have no exponents", hint="take part as a Member")
        return agreed(own, [bytes.fromhex(one) for one in self.people], self.digest)

    def _noise(self) -> DilutedGeometric | GaussianShares | MaskedSum:
        numbers = {name: exact(text, name) for name, text in self.parameters.items()}
        whole = {name: self._whole(name) for name in numbers if name not in ("epsilon", "delta", "rho")}
        size = len(self.people) - 1
        if self.scheme == "diluted":
            return DilutedGeometric(numbers["epsilon"], numbers["delta"], size, whole["honest"], self.limit)
        if self.scheme == "gaussian":
            return GaussianShares(numbers["rho"], size, whole["honest"], self.limit)
        return MaskedSum(self.digest.hex(), self.people, self.limit, numbers["rho"], **whole, epochs=self.epochs)

    def _whole(self, name: str) -> int:
        number = exact(self.parameters[name], name)
        if number.denominator != 1:
            raise Refusal(f"expected a whole number {name}, got {shown(self.parameters[name])}")
        return int(number)
