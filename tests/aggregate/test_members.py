"""Exponents cancel, with a dealer and without, and two who work together learn nothing of the others' share."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.aggregate import agreed, dealt, public_key
from discreet.aggregate.curve_group import ORDER
from discreet.errors import Refusal

KEYS = [X25519PrivateKey.generate() for _ in range(5)]
PUBLIC = [public_key(key) for key in KEYS]


def test_a_dealer_deals_exponents_that_cancel() -> None:
    first, second = dealt(7), dealt(7)
    assert sum(first) % ORDER == sum(second) % ORDER == 0
    assert len(set(first) | set(second)) == 16
    assert all(0 < each < ORDER for each in first)


def test_without_a_dealer_they_cancel_as_well_and_differ_from_context_to_context() -> None:
    one, other = ([agreed(key, PUBLIC, context) for key in KEYS] for context in (b"one", b"other"))
    assert sum(one) % ORDER == sum(other) % ORDER == 0
    assert len({*one, *other}) == 10
    for left in range(5):  # no four of them cancel: each depends on everybody
        assert sum(one[:left] + one[left + 1 :]) % ORDER


def test_keys_that_cannot_be_used_are_refused() -> None:
    for wrong in (PUBLIC[1:], [*PUBLIC, PUBLIC[1]]):
        with pytest.raises(Refusal, match="one's own among them"):
            agreed(KEYS[0], wrong, b"")
    with pytest.raises(Refusal, match="one person or more"):
        agreed(KEYS[0], PUBLIC[:1], b"")
    for point in (bytes(32), b"short"):  # of small order: everybody knows what is shared with it
        with pytest.raises(Refusal, match="no public key"):
            agreed(KEYS[0], [*PUBLIC, point], b"")
