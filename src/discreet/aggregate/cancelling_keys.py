"""Secret exponents that cancel: one for each person and one for the aggregator, which add up to zero."""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from discreet.aggregate.curve_group import ORDER
from discreet.errors import Refusal
from discreet.exact import count
from discreet.noise import SECURE, Entropy, below

_MARK = b"discreet-aggregate-exponent\0"


def dealt(people: int, *, rng: Entropy = SECURE) -> tuple[int, ...]:
    """Exponents by a dealer, whom everybody trusts to forget them: that of the aggregator first, then the people's."""
    while True:
        own = [1 + below(ORDER - 1, rng=rng) for _ in range(count(people, "people"))]
        aggregator = -sum(own) % ORDER
        if aggregator:
            return aggregator, *own


def public_key(own: X25519PrivateKey) -> bytes:
    """What the others are told of a key: 32 bytes."""
    return own.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def agreed(own: X25519PrivateKey, everybody: Sequence[bytes], context: bytes) -> int:
    """An exponent without a dealer, from the public keys of all: that of the aggregator first, then the people's.

    Each two share a number that nobody else knows; one of them adds it, the other takes it away. `context` says what
    the exponents are for: one set of keys makes others for every context. That the public keys are those of the people
    has to be known otherwise: they stand in the signed task.
    """
    mine = public_key(own)
    if len(set(everybody)) != len(everybody) or mine not in everybody:
        raise Refusal("expected public keys that differ, one's own among them")
    if len(everybody) < 2:
        raise Refusal(
            f"expected an aggregator and one person or more, got {len(everybody)} public keys",
        )
    place = list(everybody).index(mine)
    total = sum(
        _shared(own, other, context) * (1 if place < number else -1)
        for number, other in enumerate(everybody)
        if number != place
    )
    if total % ORDER == 0:
        raise Refusal("these public keys give no exponent", hint="make a new key")
    return total % ORDER


def _shared(own: X25519PrivateKey, other: bytes, context: bytes) -> int:
    """A number below the order of the group, off from uniform by 2^−256: 512 bits, and their remainder."""
    try:
        secret = own.exchange(X25519PublicKey.from_public_bytes(other))
    except ValueError:
        raise Refusal(f"{other.hex()} is no public key") from None
    pair = b"".join(sorted((public_key(own), other)))
    derived = HKDF(algorithm=SHA512(), length=64, salt=None, info=_MARK + pair + context).derive(secret)
    return int.from_bytes(derived, "big") % ORDER
