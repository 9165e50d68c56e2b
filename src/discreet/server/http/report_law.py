"""The law of a report in whole numbers, for a browser that rolls it, and checks first that it keeps the promise."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import Refusal
from discreet.local import Reporter, Response, Unary

MOST = 50  # answers on a page


@dataclass(frozen=True)
class Dice:
    """How likely a report says a person's own answer, and each other one: so many out of 2^bits.

    `one`: a report says exactly one answer. `set`: it says yes or no to each.
    """

    kind: str
    choices: int
    bits: int
    holder: int
    other: int

    @classmethod
    def of(cls, client: Reporter) -> Dice:
        """The dice of a client, exactly its odds."""
        if not isinstance(client, (Response, Unary)) or client.choices > MOST:
            raise Refusal(
                "this survey is not answered on a page", hint=f"pages roll response and unary of up to {MOST} answers"
            )
        odds = client.odds
        whole = max(odds.holder.denominator, odds.other.denominator)
        if whole & (whole - 1):
            raise Refusal("the odds of this survey are no binary fractions", hint="choose another epsilon")
        kind = "one" if isinstance(client, Response) else "set"
        return cls(kind, client.choices, whole.bit_length() - 1, int(odds.holder * whole), int(odds.other * whole))

    def told(self) -> dict[str, str | int]:
        """For the page. Numbers are texts: JSON in a browser would round them."""
        return {
            "kind": self.kind,
            "choices": self.choices,
            "bits": self.bits,
            "holder": str(self.holder),
            "other": str(self.other),
        }
