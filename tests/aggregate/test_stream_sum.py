"""Encrypted sums: what is read is the sum and its noise; once in an epoch; and nothing else shows in what is sent."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from doubles import Seeded
from scipy import stats

from discreet.aggregate import DilutedGeometric, GaussianShares, Logarithms, Sender, StreamSum, dealt, encrypted, opened
from discreet.aggregate.curve_group import added, hashed, multiple, read_point, scalar
from discreet.aggregate.sent_epochs import Outbox
from discreet.audit import audit
from discreet.errors import Refusal
from discreet.mechanisms.mechanism import Pair
from discreet.noise import SECURE, Entropy
from discreet.privacy import Approximate

NOISE = DilutedGeometric.of(1, "0.01", 4, 10)
TASK = StreamSum("meters of a street", NOISE, 5)
KEYS = dealt(4)
TABLE = Logarithms.made(64)


def senders(folder: Path) -> list[Sender]:
    return [Sender(TASK, key, folder / str(number)) for number, key in enumerate(KEYS[1:])]


def test_the_sum_is_that_of_the_values_and_their_noise_in_every_epoch(tmp_path: Path) -> None:
    for epoch, values in enumerate([(0, 0, 0, 0), (10, 10, 10, 10), (3, 0, 7, 1), (0, 1, 0, 0), (9, 9, 2, 4)]):
        rng, same = Seeded(epoch), Seeded(epoch)
        people = zip(senders(tmp_path), values, strict=True)
        messages = [sender.encrypt(value, epoch, rng=rng) for sender, value in people]
        noise = sum(NOISE.draw(rng=same) for _ in values)
        assert opened(TASK, epoch, KEYS[0], messages, TABLE) == sum(values) + noise
        assert opened(TASK, epoch, KEYS[0], messages, TASK.table(tmp_path)) == sum(values) + noise
        assert [sender.sent(epoch) for sender in senders(tmp_path)] == messages  # after a crash the same is sent again


def test_a_second_number_in_an_epoch_is_refused_by_whichever_process(tmp_path: Path) -> None:
    sender = senders(tmp_path)[0]
    first = sender.encrypt(3, 2)
    for again in (sender, senders(tmp_path)[0]):
        for value in (3, 4):
            with pytest.raises(Refusal, match="encrypted for epoch 2 already"):
                again.encrypt(value, 2)
    assert sender.sent(2) == first
    sender.encrypt(3, 1)


def test_two_processes_that_write_at_once_do_not_both_send(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sender, other = senders(tmp_path)[0], senders(tmp_path)[0]
    monkeypatch.setattr(Outbox, "unsent", lambda *_: None)  # both looked before either of them wrote
    (tmp_path / "0").mkdir()
    sender.encrypt(3, 0)
    with pytest.raises(FileExistsError):
        other.encrypt(4, 0)


def test_half_a_file_sends_nothing_and_stays_taken(tmp_path: Path) -> None:
    sender = senders(tmp_path)[0]
    content = sender.encrypt(1, 0)
    (tmp_path / "0" / "epoch-0").write_bytes(content[:30])
    assert sender.sent(0) is None
    assert sender.sent(1) is None
    with pytest.raises(Refusal, match="already"):
        sender.encrypt(1, 0)


def test_a_value_or_an_epoch_out_of_range_is_refused_and_takes_nothing(tmp_path: Path) -> None:
    sender = senders(tmp_path)[0]
    for value in (-1, 11):
        with pytest.raises(Refusal):
            sender.encrypt(value, 0)
    for epoch in (-1, 5):
        with pytest.raises(Refusal, match="from 0 to 4"):
            sender.encrypt(1, epoch)
    assert not list(tmp_path.iterdir())


def test_without_all_messages_of_one_epoch_nothing_is_read(tmp_path: Path) -> None:
    people = senders(tmp_path)
    now, later = ([sender.encrypt(1, epoch) for sender in people] for epoch in (0, 1))
    with pytest.raises(Refusal, match="3 of 4 messages"):
        opened(TASK, 0, KEYS[0], now[1:], TABLE)
    for wrong in ([later[0], *now[1:]], [now[1], *now[1:]]):
        with pytest.raises(Refusal, match="nothing that can be read"):
            opened(TASK, 0, KEYS[0], wrong, TABLE)
    for epoch, key in ((1, KEYS[0]), (0, KEYS[0] + 1)):
        with pytest.raises(Refusal, match="nothing that can be read"):
            opened(TASK, epoch, key, now, TABLE)
    with pytest.raises(Refusal, match="not a point"):
        opened(TASK, 0, KEYS[0], [b"", *now[1:]], TABLE)


def test_another_name_is_another_task() -> None:
    other = StreamSum("meters of another street", NOISE, 5)
    assert other.point(0) != TASK.point(0) != TASK.point(1)


def test_the_price_is_that_of_all_epochs() -> None:
    assert TASK.privacy == Approximate(5, Fraction(5, 100))
    assert StreamSum("another", GaussianShares(Fraction(1), 4, 4), 3).privacy.delta == Fraction(3, 2**128)


def test_gaussian_noise_lies_on_its_grid(tmp_path: Path) -> None:
    noise = GaussianShares(Fraction(2), 4, 3, 10)
    task, rng, same = StreamSum("steps", noise, 1), Seeded(8), Seeded(8)
    people = [Sender(task, key, tmp_path / str(number)) for number, key in enumerate(KEYS[1:])]
    messages = [one.encrypt(value, 0, rng=rng) for one, value in zip(people, (10, 0, 3, 7), strict=True)]
    true = Fraction(sum(noise.number(value, rng=same) for value in (10, 0, 3, 7)), 1 << noise.places)
    assert opened(task, 0, KEYS[0], messages, TABLE) == true
    assert noise.places == 2
    assert abs(true - 20) < 7 * noise.deviation


def attacked(noise: DilutedGeometric, values: tuple[int, ...], rng: Entropy) -> int:
    """What an aggregator reads of two honest people who works with the third, and knows his key and his noise."""
    keys = dealt(3, rng=rng)
    base = hashed(b"toy")
    messages = [encrypted(value + noise.draw(rng=rng), base, key) for value, key in zip(values, keys[1:3], strict=True)]
    known = base.multiply(scalar(keys[0] + keys[3]))
    found = TABLE(added([*map(read_point, messages), known]), -4000, 4000)
    assert found is not None
    return found


def test_an_aggregator_who_works_with_the_others_sees_what_the_claim_allows_and_no_less() -> None:
    noise = DilutedGeometric(Fraction(1), Fraction(1, 20), 3, 2)
    pair = Pair((0, 1), (1, 1), "one honest value replaced")

    def view(values: tuple[int, ...], /, *, rng: Entropy = SECURE) -> int:
        return attacked(noise, values, rng)

    def bare(values: tuple[int, ...], /, *, rng: Entropy = SECURE) -> int:
        return attacked(DilutedGeometric(Fraction(3), Fraction(1, 20), 3, 2), values, rng)

    alpha = Fraction(1, 10**9)
    assert not audit(view, [pair], noise.privacy, samples=700, alpha=alpha, rng=Seeded(1)).refuted
    assert audit(bare, [pair], noise.privacy, samples=700, alpha=alpha, rng=Seeded(2)).refuted


def test_messages_of_different_values_look_alike_and_two_of_one_epoch_would_not() -> None:
    """A bit of the first coordinate is a fair coin whatever the value; the difference of two messages tells it all."""
    base, rng = hashed(b"look"), Seeded(3)
    for value in (0, 1):
        messages = [encrypted(value, base, dealt(2, rng=rng)[1]) for _ in range(800)]
        heads = sum(message[32] & 1 for message in messages)
        assert 2 * min(stats.binom.cdf(heads, 800, 0.5), stats.binom.sf(heads - 1, 800, 0.5)) > 1e-9
        assert len(set(messages)) == 800
    first, second = (read_point(encrypted(value, base, KEYS[1])) for value in (4, 9))
    opposite = second.multiply(scalar(-1))
    assert added([first, opposite]) == multiple(-5)
