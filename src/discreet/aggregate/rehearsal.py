"""Rehearsal of a masked sum: all people of a round in one process, to try out what happens before anybody is asked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.aggregate.masked_round import Member, added_up
from discreet.aggregate.masked_sum import MaskedSum
from discreet.aggregate.sent_epochs import Outbox


def rehearsed(  # noqa: PLR0913, PLR0917  # what a round depends on
    task: MaskedSum,
    epoch: int,
    keys: Sequence[Ed25519PrivateKey],
    values: Sequence[int | Sequence[int]],
    folder: Path,
    gone: Collection[int] = (),
) -> tuple[Fraction, ...]:
    """What is read of an epoch, by its full protocol; those at the places `gone` fail before they send their values."""
    people = [Member(task, epoch, key, Outbox(folder / f"member-{place}")) for place, key in enumerate(keys)]
    hellos = {one.place: one.hello() for one in people}
    boxes = {one.place: one.boxes(hellos) for one in people}
    left = [one for one in people if one.place not in gone]
    sent = {
        one.place: one.upload(values[one.place], {i: box[one.place] for i, box in boxes.items() if i != one.place})
        for one in left
    }
    signed = {place: each.signature for place, each in sent.items()}
    agreements = {one.place: one.agreement(signed) for one in left}
    told = {one.place: one.shares(agreements) for one in left}
    return task.decoded(added_up(task, epoch, hellos, sent, told))
