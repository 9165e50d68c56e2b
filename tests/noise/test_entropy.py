"""The source of randomness: fresh in every process and thread, never repeated, without a seed."""

from __future__ import annotations

import inspect
import os
import signal
import threading
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import Refusal
from discreet.noise import SECURE, Secure, flips, secure_random
from discreet.noise.secure_random import STRETCH


def _in_child(count: int) -> bytes:
    """What a forked child draws from the inherited source."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, SECURE.raw(count))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        drawn = stream.read()
    os.waitpid(child, 0)
    return drawn


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_children_share_no_byte_with_parent_or_each_other() -> None:
    SECURE.raw(1)  # a half-used stretch is what a child inherits
    children = [_in_child(32) for _ in range(4)]
    assert len({*children, SECURE.raw(32)}) == 5


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_no_python_hook_saw_is_noticed_by_its_process_id() -> None:
    source = Secure()  # no fork hook is registered for this one
    source.raw(1)
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, source.raw(32))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        drawn = stream.read()
    os.waitpid(child, 0)
    assert drawn != source.raw(32)


def test_threads_share_no_byte() -> None:
    drawn: list[bytes] = []
    threads = [threading.Thread(target=lambda: drawn.append(SECURE.raw(32))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({*drawn, SECURE.raw(32)}) == 9


@pytest.mark.parametrize("count", [16, 1000, STRETCH // 4, STRETCH // 4 + 1, 3 * STRETCH + 7, (1 << 20) + 5])
def test_requests_of_any_size_have_their_length_and_no_repeated_block(count: int) -> None:
    drawn = b"".join(SECURE.raw(count) for _ in range(3))
    assert len(drawn) == 3 * count
    blocks = [drawn[i : i + 16] for i in range(0, len(drawn) - 15, 16)]
    assert len(set(blocks)) == len(blocks)  # a collision of 128-bit blocks has probability below 2^-90


def test_a_stretch_is_left_for_a_new_one_without_overlap() -> None:
    drawn = b"".join(SECURE.raw(48) for _ in range(2 * STRETCH // 48))
    blocks = [drawn[i : i + 48] for i in range(0, len(drawn), 48)]
    assert len(set(blocks)) == len(blocks)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 64, 65, 257])
def test_bits_reach_every_place_and_no_further(count: int) -> None:
    union, meet = 0, (1 << count) - 1
    for _ in range(60):
        drawn = SECURE.bits(count)
        assert 0 <= drawn < 1 << count
        union, meet = union | drawn, meet & drawn
    # a place that stays 0, or 1, in 60 draws has probability 2^-59; there are 412 places in this test: below 1e-15
    assert union == (1 << count) - 1
    assert meet == 0


def test_production_takes_no_seed() -> None:
    assert list(inspect.signature(Secure).parameters) == []


def test_a_signal_handler_that_draws_gets_other_bytes() -> None:
    drawn: list[bytes] = []
    previous = signal.signal(signal.SIGALRM, lambda *_: drawn.append(SECURE.raw(16)))
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
        while len(drawn) < 500:
            drawn.extend(SECURE.raw(16) for _ in range(50))
        ours = [SECURE.raw(16) for _ in range(20_000)]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    everything = [*drawn, *ours]
    assert len(set(everything)) == len(everything)


@pytest.mark.parametrize("count", [-1, -8])
def test_the_stream_is_never_wound_back(count: int) -> None:
    with pytest.raises(Refusal, match=str(count)):
        SECURE.raw(count)


def test_narrow_integers_do_not_wrap_around() -> None:
    first = SECURE.raw(200)
    assert len(SECURE.raw(np.uint8(100))) == 100  # type: ignore[arg-type]
    assert len(flips(Fraction(1, 2), np.uint8(40))) == 40  # type: ignore[arg-type]
    assert first not in SECURE.raw(400)


def test_a_process_id_that_comes_back_is_still_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Secure()
    monkeypatch.setattr(os, "getpid", lambda: 7)
    source.raw(1)
    held = source._held[0].getvalue()
    secure_random._forked()  # what the hook does in a child
    assert source.raw(32) not in held
