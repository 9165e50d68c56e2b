"""A round of a masked sum: what each person sends in its five steps, and how the aggregator adds up.

hello      two public keys of this epoch, signed
boxes      for every other person, sealed: shares of the secret of one's masks and of the seed of one's own mask
upload     the number or the vector under all masks, and a signed word about whom they are shared with
agreement  a signed word about who survived
shares     of the seeds of those who survived, of the mask secrets of those who did not: never both
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from discreet.aggregate.cancelling_keys import public_key
from discreet.aggregate.masked_sum import MODULUS, MaskedSum
from discreet.aggregate.sent_epochs import Outbox
from discreet.aggregate.shamir import WIDTH, joined, split
from discreet.errors import Refusal
from discreet.ledger.signed_head import genuine, public_part
from discreet.noise import SECURE, Entropy

Words = np.ndarray[tuple[int], np.dtype[np.uint64]]  # added up modulo 2^64

_MASK, _BOX = b"discreet-masked-sum-mask\0", b"discreet-masked-sum-box\0"
_NONCE = bytes(12)  # each key seals one message
_ENDED = -1  # no step is the next one


@dataclass(frozen=True)
class Hello:
    """Public keys of one person for one epoch: of masks, and of boxes."""

    masks: str
    boxes: str
    signature: str


@dataclass(frozen=True)
class Upload:
    """One number or those of a vector under their masks, and a signature of those with whom they are shared."""

    numbers: tuple[int, ...]
    signature: str


@dataclass(frozen=True)
class Shares:
    """What one person tells at the end: shares of seeds of survivors, and of mask secrets of those who failed."""

    seeds: dict[int, int]
    secrets: dict[int, int]


@dataclass
class Member:
    """One person's side of one epoch, step by step. Its secrets are in memory only: who restarts has failed."""

    task: MaskedSum
    epoch: int
    identity: Ed25519PrivateKey = field(repr=False)
    outbox: Outbox
    rng: Entropy = field(default=SECURE, repr=False)
    _step: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        key = public_part(self.identity)
        if key not in self.task.people:
            raise Refusal(f"{key} is not among the people of this task")
        self.place = self.task.people.index(key)
        self._masks = X25519PrivateKey.from_private_bytes(self.rng.raw(32))
        self._boxes = X25519PrivateKey.from_private_bytes(self.rng.raw(32))
        self._seed = self.rng.raw(32)
        self._hellos: dict[int, Hello] = {}
        self._held: dict[int, tuple[int, int]] = {}
        self._survivors: list[int] = []

    def hello(self) -> Hello:
        """The first step."""
        masks, boxes = public_key(self._masks).hex(), public_key(self._boxes).hex()
        return Hello(masks, boxes, self._signed("hello", masks=masks, boxes=boxes))

    def boxes(self, hellos: Mapping[int, Hello]) -> dict[int, bytes]:
        """The second: a sealed box for everybody who said hello."""
        self._now(0)
        for place, one in hellos.items():
            said = self.task.statement("hello", self.epoch, masks=one.masks, boxes=one.boxes)
            self._check(place, one.signature, said)
        if hellos.get(self.place) != self.hello():
            raise Refusal("expected one's own hello among the others")
        self._enough(len(hellos))
        self._hellos = dict(hellos)
        secret = self._masks.private_bytes_raw()
        masks, seeds = (split(one, self.task.threshold, hellos, rng=self.rng) for one in (secret, self._seed))
        self._held = {self.place: (masks[self.place], seeds[self.place])}
        self._step = 1
        return {
            other: self._box(self.place, other).encrypt(_NONCE, _pair(masks[other], seeds[other]), None)
            for other in hellos
            if other != self.place
        }

    def upload(self, value: int | Sequence[int], boxes: Mapping[int, bytes]) -> Upload:
        """The third: the value, masked with everybody whose box arrived. It is on the disk before it leaves."""
        self.task.noise.fits(value)  # a slip of the finger does not end the epoch
        self._now(1)
        self._enough(len(boxes) + 1)
        for other, content in boxes.items():
            if other == self.place or other not in self._hellos:
                raise Refusal(f"there is no box from person {other} to person {self.place}")
            self._held[other] = _unpaired(self._opened(other, content))
        total = _words(self.task.noise.numbers(value, rng=self.rng)) + _stream(self._seed, self.task.width)
        for other in boxes:
            between = self.place, other
            mask = _mask(self._masks, self._hellos[other].masks, self.epoch, between, self.task.width)
            total = total + mask if self.place < other else total - mask
        self.outbox.unsent(self.epoch)
        self.outbox.keep(self.epoch, total.astype(">u8").tobytes())
        self._step = 2
        return Upload(tuple(total.tolist()), self._signed("masked with", people=sorted(self._held)))

    def agreement(self, uploads: Mapping[int, str]) -> str:
        """The fourth: one's word on who survived, given the signatures of their uploads."""
        self._now(2)
        partners = sorted(self._held)
        for place, signature in uploads.items():
            if place not in self._held:
                raise Refusal(f"person {place} shares no masks with person {self.place}")
            self._check(place, signature, self.task.statement("masked with", self.epoch, people=partners))
        self._enough(len(uploads))
        self._survivors, self._step = sorted(uploads), 3
        return self._signed("survivors", people=partners, survivors=self._survivors)

    def shares(self, agreements: Mapping[int, str]) -> Shares:
        """The last: one kind of share of each person, after `threshold` people signed the same word."""
        self._now(3)
        said = self.task.statement("survivors", self.epoch, people=sorted(self._held), survivors=self._survivors)
        for place, signature in agreements.items():
            self._check(place, signature, said)
        if len(agreements) < self.task.threshold:
            raise Refusal(f"{len(agreements)} people agree on who survived, {self.task.threshold} have to")
        seeds = {place: self._held[place][1] for place in self._survivors}
        return Shares(seeds, {place: held[0] for place, held in self._held.items() if place not in seeds})

    def _now(self, step: int) -> None:
        """Each step is taken once, in order; one that is refused ends the epoch for this person."""
        if self._step != step:
            raise Refusal(f"this is not the next step of epoch {self.epoch}", hint="each step is taken once")
        self._step = _ENDED

    def _enough(self, size: int) -> None:
        if size < self.task.minimum:
            raise Refusal(
                f"{size} people are left of {len(self.task.people)}, and noise was measured for {self.task.minimum}",
                hint="this epoch has no sum",
            )

    def _signed(self, kind: str, **said: object) -> str:
        return self.identity.sign(self.task.statement(kind, self.epoch, **said)).hex()

    def _check(self, place: int, signature: str, said: bytes) -> None:
        if not 0 <= place < len(self.task.people) or not genuine(self.task.people[place], signature, said):
            raise Refusal(f"a signature is not that of person {place}")

    def _box(self, sender: int, receiver: int) -> AESGCM:
        other = self._hellos[receiver if sender == self.place else sender].boxes
        context = _BOX + b"".join(number.to_bytes(8, "big") for number in (self.epoch, sender, receiver))
        return AESGCM(_derived(self._boxes, other, context))

    def _opened(self, sender: int, content: bytes) -> bytes:
        try:
            return self._box(sender, self.place).decrypt(_NONCE, content, None)
        except InvalidTag:
            raise Refusal(f"the box from person {sender} is broken") from None


def added_up(
    task: MaskedSum, epoch: int, hellos: Mapping[int, Hello], uploads: Mapping[int, Upload], told: Mapping[int, Shares]
) -> tuple[int, ...]:
    """What the numbers of all survivors add up to without masks, modulo 2^64: the aggregator's part."""
    if len(uploads) < task.minimum:
        raise Refusal(f"{len(uploads)} people survived, and noise was measured for {task.minimum}")
    if len(told) < task.threshold:
        raise Refusal(f"{len(told)} people told their shares, and {task.threshold} have to")
    some = dict(sorted(told.items())[: task.threshold])
    failures = set(next(iter(some.values())).secrets)
    if any(set(shares.seeds) != set(uploads) or set(shares.secrets) != failures for shares in some.values()):
        raise Refusal("people told shares of other people than those who uploaded", hint="somebody told a wrong list")
    if any(len(upload.numbers) != task.width for upload in uploads.values()):
        raise Refusal(f"expected {task.width} numbers of each person", hint="somebody sent more or fewer")
    total = _words([0] * task.width)
    for place, upload in uploads.items():
        seed = joined({teller: shares.seeds[place] for teller, shares in some.items()})
        total = total + _words(upload.numbers) - _stream(seed.to_bytes(WIDTH, "big")[-32:], task.width)
    for failed in sorted(failures):
        secret = joined({teller: shares.secrets[failed] for teller, shares in some.items()})
        key = X25519PrivateKey.from_private_bytes(secret.to_bytes(WIDTH, "big")[-32:])
        if public_key(key).hex() != hellos[failed].masks:
            raise Refusal(f"the shares of person {failed} do not fit together", hint="somebody told a wrong one")
        for place in uploads:
            mask = _mask(key, hellos[place].masks, epoch, (place, failed), task.width)
            total = total - mask if place < failed else total + mask
    return tuple(total.tolist())


def _words(numbers: Iterable[int]) -> Words:
    return np.array([number % MODULUS for number in numbers], dtype=np.uint64)


def _mask(own: X25519PrivateKey, other: str, epoch: int, between: tuple[int, int], width: int) -> Words:
    """What two people share: 64 bits of AES in counter mode for each number.

    Their places are in its name. Else who says somebody else's key for his own makes two masks equal, and they cancel.
    """
    name = _MASK + b"".join(number.to_bytes(8, "big") for number in (epoch, *sorted(between)))
    return _stream(_derived(own, other, name), width)


def _stream(key: bytes, width: int) -> Words:
    encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    return np.frombuffer(encryptor.update(bytes(8 * width)), dtype=">u8").astype(np.uint64)


def _derived(own: X25519PrivateKey, other: str, context: bytes) -> bytes:
    pair = b"".join(sorted((public_key(own), bytes.fromhex(other))))
    try:
        secret = own.exchange(X25519PublicKey.from_public_bytes(bytes.fromhex(other)))
    except ValueError:
        raise Refusal(f"{other} is no public key") from None
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=context + pair).derive(secret)


def _pair(secret: int, own_mask: int) -> bytes:
    return secret.to_bytes(WIDTH, "big") + own_mask.to_bytes(WIDTH, "big")


def _unpaired(content: bytes) -> tuple[int, int]:
    return int.from_bytes(content[:WIDTH], "big"), int.from_bytes(content[WIDTH:], "big")
