"""Certificate of a release: what was promised to whom, how it was made, and the proof that it was paid for.

A certificate says nothing on its own word. The facts are those that the release itself carries, whose digest stands in
the ledger; the question, the tables and the price are those that the same entry of the ledger holds; all else follows.
The entry that paid is named by its number alone: it says who asked, and that is nobody's business but the home's.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet import __version__
from discreet.errors import Refusal
from discreet.exact import shown, spoken
from discreet.ledger.entry_kinds import (
    BudgetLoss,
    Plain,
    Spend,
    StoredAnswer,
    canonical,
    read_loss,
    read_neighbours,
    write_loss,
)
from discreet.ledger.signed_head import is_hex, strict_json
from discreet.ledger.verify import Pinned, Receipt, read_proof
from discreet.privacy import Approximate, Concentrated, Neighbours, Replace, convert
from discreet.release.release_kind import named

FORMAT, EARLIER = "discreet-certificate-3", "discreet-certificate-2"
_OWN = ("format", "title", "promise", "left_out", "provenance", "ledger", "files", "discreet", "how_to_cite")
_ALMOST = Fraction(99, 100)  # beyond it one does not say a whole number: it would be a hundred
_TIME = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T\d\d:\d\d:\d\dZ", re.ASCII)
BROKEN = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)  # what bad text raises


@dataclass(frozen=True)
class Certificate:
    """Public facts of a release, the entry of the ledger that holds its digest and what was paid for it, its files."""

    facts: Mapping[str, Plain]  # what the release says of itself
    bounding: str  # what its error bars leave out
    answer: Receipt
    files: Mapping[str, str] = field(default_factory=dict)  # name -> SHA-256
    discreet: str = __version__

    def __post_init__(self) -> None:
        said = self.answer.entry.event
        if not isinstance(said, StoredAnswer):
            raise Refusal(
                f"a certificate names the entry that holds an answer, got one that holds {type(said).__name__}"
            )
        if clash := sorted(set(self.facts) & set(_OWN)):
            raise Refusal(f"a release names no facts as a certificate does, got {clash}")
        held(said.answer)
        paid_of(said.answer)

    # what was promised ----------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """What the release is called: the name under which the ledger has it."""
        return held(_answer(self.answer).answer)[1]

    @property
    def digest(self) -> str:
        """The SHA-256 of the release, as the ledger has it."""
        return held(_answer(self.answer).answer)[0]

    @property
    def kind(self) -> str:
        """The name of the kind of release."""
        return _text(self.facts, "kind")

    @property
    def guarantee(self) -> BudgetLoss:
        """What one unit can lose by it, at most."""
        return read_loss(self.facts["guarantee"])

    @property
    def neighbours(self) -> Neighbours:
        """What is compared: with one unit and without it, or with another in its place."""
        return read_neighbours(self.facts["neighbours"])

    @property
    def most(self) -> int:
        """Records of one unit that are counted at most."""
        caps = self.facts["caps"]
        return int(str(caps["max_rows"])) if isinstance(caps, dict) else 1

    @property
    def chance(self) -> Fraction:
        """That somebody is right who tosses a coin before the release and guesses after it, at most.

        Proof: the best test of two equally likely data sets is right with (1 + δ(0))/2, where δ is the loss's profile.
        """
        return (1 + self.guarantee.delta_at(0)) / 2

    @property
    def promise(self) -> str:
        """What is promised to whom, in plain words."""
        whose = "one row" if self.neighbours.unit == "row" else f"the records of one {self.neighbours.unit}"
        replaced = isinstance(self.neighbours, Replace)
        guess = f"which of two versions of {whose} the data has" if replaced else f"whether the data has {whose}"
        times = "nearly always" if self.chance > _ALMOST else f"at most {math.ceil(100 * self.chance)} times"
        if self.earlier:  # as earlier certificates say it, which must read as they were written
            return (
                f"Whoever tosses a coin to guess {guess} is right 50 times in 100. "
                f"Whoever reads this release, whatever else they know, is right {times}."
            )
        return (
            f"Whoever can only toss a coin to guess {guess} is right 50 times in 100. "
            f"After reading this release, even if they know all the other data, they are right {times}."
        )

    @property
    def change(self) -> str:
        """Between which data sets the guarantee holds."""
        how = "replaced by others" if isinstance(self.neighbours, Replace) else "added or removed"
        if self.neighbours.unit == "row" and self.most == 1:
            return f"when one row is {how}"
        rows = "row" if self.most == 1 else "rows"
        return f"when all records of one {self.neighbours.unit}, at most {self.most} {rows}, are {how}"

    # where it comes from --------------------------------------------------------------------------------------------

    @property
    def paid(self) -> PaymentFacts:
        """What the ledger says of the payment."""
        return paid_of(_answer(self.answer).answer)

    @property
    def entries(self) -> tuple[int, int]:
        """The entry that paid, and the one that holds the digest."""
        return _answer(self.answer).spend, self.answer.entry.number

    @property
    def time(self) -> str:
        """When it was made."""
        return self.answer.entry.time

    @property
    def left_out(self) -> tuple[str, ...]:
        """What no error bar covers, and what was not counted, or where it was counted."""
        unit = self.neighbours.unit
        kind = named(self.kind).release
        return self.bounding, *kind.left_out(self.facts, "unit" if unit == "row" else unit)

    @property
    def earlier(self) -> bool:
        """Whether it is in the format of version 0.1."""
        return named(self.kind).release.is_earlier(self.facts)

    @property
    def how_to_cite(self) -> str:
        """One sentence for a paper."""
        made = f"differentially private {self.kind}; {spelled(self.guarantee)}, {self.change}"
        return (
            f"{self.title} ({made}), {self.time[:10]}; ledger entry {self.answer.entry.number} under the root "
            f"{self.answer.head.root} of {self.answer.head.size} entries; SHA-256 {self.digest}; made with discreet "
            f"{self.discreet}."
        )

    def faults(self, pinned: Pinned | None = None) -> tuple[str, ...]:
        """Why the ledger does not vouch for it; empty if it does.

        Who kept a head or a key of the ledger gives it. Without one it is only shown that some ledger vouches.
        """
        known = pinned or Pinned(self.answer.head.key)
        faults = [f"entry {self.answer.entry.number}: {fault}" for fault in self.answer.faults(known)]
        if not _covers(self.paid.loss, self.guarantee):
            told = f"the ledger was charged {spelled(self.paid.loss)}"
            faults.append(f"{told}, which does not cover the {spelled(self.guarantee)} that it promises")
        return tuple(faults)

    # as text --------------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """All of it, in one spelling."""
        body: dict[str, Plain] = {
            **self.facts,
            "format": EARLIER if self.earlier else FORMAT,
            "title": self.title,
            "promise": self.promise,
            "left_out": list(self.left_out),
            "provenance": {
                "sql": self.paid.sql,
                "tables": dict(self.paid.versions),
                "population": self.paid.population,
                "time": self.time,
            },
            "ledger": {"entries": list(self.entries), "answer": json.loads(self.answer.text())},
            "files": dict(self.files),
            "discreet": self.discreet,
            "how_to_cite": self.how_to_cite,
        }
        canonical(body)  # refuses what could be spelled in two ways
        return json.dumps(body, sort_keys=True, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """What `to_json` wrote, to the last letter: a certificate in which one part contradicts another is refused."""
        try:
            body: Any = strict_json(text)
            read = cls(
                {name: value for name, value in body.items() if name not in _OWN},
                body["left_out"][0],
                _receipt(body["ledger"]["answer"]),
                _files(body["files"]),
                body["discreet"],
            )
            again = read.to_json()
        except BROKEN:
            raise Refusal(
                f"this is no certificate of a release: {shown(text)}", hint="it is a file that discreet writes"
            ) from None
        if again != text:
            other: Any = json.loads(again)
            parts = sorted(name for name in {*body, *other} if body.get(name) != other.get(name)) or ["its spelling"]
            raise Refusal(f"the certificate contradicts itself in {', '.join(parts)}: it was changed")
        return read


_LETTERS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}


def spelled(loss: BudgetLoss) -> str:
    """A loss in words."""
    parts = {loss.word: loss.amount} | ({"delta": loss.delta} if loss.delta else {})
    return ", ".join(f"{word} = {spoken(amount)}" for word, amount in parts.items())


def letters(loss: BudgetLoss) -> str:
    """A loss as experts write it."""
    parts = {loss.word: loss.amount} | ({"delta": loss.delta} if loss.delta else {})
    return ", ".join(f"{_LETTERS[word]} = {spoken(amount)}" for word, amount in parts.items())


@dataclass(frozen=True)
class PaymentFacts:
    """What is told of a payment: all that its entry says, but who asked and how the mechanism was built."""

    population: str
    loss: BudgetLoss
    sql: str
    versions: Mapping[str, Plain]  # of the tables

    @classmethod
    def of(cls, spend: Spend) -> PaymentFacts:
        """Of an entry that paid."""
        return cls(spend.population, spend.loss, _text(spend.what, "sql"), spend.versions)


def kept(digest: str, name: str, spend: Spend) -> Plain:
    """What the ledger's answer entry holds of a release, from which alone anybody can check it."""
    paid = PaymentFacts.of(spend)
    told: dict[str, Plain] = {"population": paid.population, "loss": write_loss(paid.loss), "sql": paid.sql}
    return {"release": {"sha256": digest, "name": name, "paid": {**told, "versions": dict(paid.versions)}}}


def held(answer: Plain) -> tuple[str, str]:
    """The digest and the name of a release that an answer entry holds."""
    match answer:
        case {"release": {"sha256": str(digest), "name": str(name), **others}, **rest} if not rest:
            if is_hex(digest, 32) and not set(others) - {"paid"}:
                return digest, name
    raise Refusal(f"this answer of the ledger holds no release: {shown(answer)}")


def paid_of(answer: Plain) -> PaymentFacts:
    """What an answer entry that holds a release says of its payment."""
    match answer:
        case {"release": {"paid": {"population": str(population), "loss": loss, "sql": str(sql), **rest}}}:
            versions = rest.pop("versions", None)
            if isinstance(versions, dict) and not rest:
                return PaymentFacts(population, read_loss(loss), sql, versions)
    raise Refusal("this answer of the ledger does not say what was paid", hint="it was written by an early discreet")


def _covers(charged: BudgetLoss, lost: BudgetLoss) -> bool:
    """Whether the ledger took at least what is lost, in its own measure."""
    if type(charged) is not type(lost):
        at = charged.delta if isinstance(charged, Approximate) and isinstance(lost, Concentrated) else None
        try:
            lost = convert(lost, type(charged), delta=at)
        except Refusal:
            return False
    return bool(lost <= charged)  # type: ignore[operator]  # they are of one measure


def _answer(proof: Receipt) -> StoredAnswer:
    if not isinstance(proof.entry.event, StoredAnswer):
        raise TypeError(proof)
    return proof.entry.event


def _text(body: object, name: str) -> str:
    text = body.get(name) if isinstance(body, Mapping) else None
    if not isinstance(text, str):
        raise Refusal(f"a certificate needs the text {name!r}")
    return text


def _receipt(body: object) -> Receipt:
    read = read_proof(json.dumps(body))
    if not isinstance(read, Receipt):
        raise TypeError(body)
    return read


def _files(body: object) -> dict[str, str]:
    if not isinstance(body, dict) or not all(isinstance(each, str) and is_hex(each, 32) for each in body.values()):
        raise TypeError(body)
    return body
