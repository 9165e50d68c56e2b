"""A bucket of tokens: so many at once, so many a second, and no more names than fit."""

from __future__ import annotations

from discreet.server.http.rate_limit import Buckets


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_let_through_and_then_the_rate_holds() -> None:
    clock = Clock()
    buckets = Buckets(2, 3, clock=clock)
    assert [buckets.take("ann") for _ in range(4)] == [0, 0, 0, 0.5]
    clock.now += 0.5
    assert [buckets.take("ann") for _ in range(2)] == [0, 0.5]
    clock.now += 1000
    assert [buckets.take("ann") for _ in range(4)] == [0, 0, 0, 0.5]  # a bucket holds no more than its burst


def test_everybody_has_a_bucket_of_their_own() -> None:
    buckets = Buckets(1, 1, clock=Clock())
    assert [buckets.take(name) for name in ("ann", "bob", "ann")] == [0, 0, 1]


def test_looking_takes_nothing() -> None:
    buckets = Buckets(1, 1, clock=Clock())
    assert [buckets.wait("ann"), buckets.wait("ann"), buckets.take("ann"), buckets.wait("ann")] == [0, 0, 0, 1]


def test_only_so_many_names_are_remembered() -> None:
    buckets = Buckets(1, 1, most=3, clock=Clock())
    for name in "abcd":
        buckets.take(name)
    assert len(buckets._filled) == 3
    assert [buckets.wait(name) for name in "abcd"] == [0, 1, 1, 1]
