"""Masked sums: read when few fail, by whom noise is enough; never both shares of one person; and lies are noticed."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from covering import Coverage
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from doubles import Seeded

from discreet.aggregate import GaussianShares, Hello, MaskedSum, Member, Outbox, Shares, added_up
from discreet.aggregate.masked_round import _stream
from discreet.aggregate.masked_sum import MODULUS
from discreet.aggregate.shamir import PRIME, WIDTH, joined, split
from discreet.errors import Refusal
from discreet.ledger.signed_head import public_part
from discreet.noise import SECURE
from discreet.privacy import Concentrated

HALF = Fraction(1, 2)
KEYS = [Ed25519PrivateKey.generate() for _ in range(7)]
PEOPLE = tuple(public_part(key) for key in KEYS)
TASK = MaskedSum("a week of steps", PEOPLE, 100, HALF, 5, 1, 5, 3)
VALUES = {0: 100, 1: 0, 2: 7, 3: 50, 4: 1, 5: 99, 6: 30}


def members(folder: Path, epoch: int = 0, seed: int | None = None) -> dict[int, Member]:
    rngs = [SECURE if seed is None else Seeded(seed + place) for place in range(7)]
    return {place: Member(TASK, epoch, KEYS[place], Outbox(folder / str(place)), rngs[place]) for place in range(7)}


def ran(people: dict[int, Member], gone: tuple[set[int], set[int], set[int]]) -> tuple[int, ...]:
    """A round in which some say hello and no more, others give their boxes and no more, others upload and no more."""
    hellos = {place: one.hello() for place, one in people.items()}
    left = [place for place in people if place not in gone[0]]
    boxes = {place: people[place].boxes(hellos) for place in left}
    left = [place for place in left if place not in gone[1]]
    uploads = {
        place: people[place].upload(
            VALUES[place], {other: box[place] for other, box in boxes.items() if other != place}
        )
        for place in left
    }
    left = [place for place in left if place not in gone[2]]
    signed = {place: one.signature for place, one in uploads.items()}
    agreements = {place: people[place].agreement(signed) for place in left}
    told = {place: people[place].shares(agreements) for place in left}
    return added_up(TASK, 0, hellos, uploads, told)


@pytest.mark.parametrize(
    "gone",
    [(set(), set(), set()), ({0}, {6}, set()), (set(), {0, 6}, set()), (set(), set(), {3, 4}), (set(), {2}, {5})],
)
def test_the_sum_is_that_of_whoever_uploaded_with_their_noise(
    tmp_path: Path, gone: tuple[set[int], set[int], set[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    noise: list[int] = []

    def counted(own: GaussianShares, value: int, **_: object) -> int:
        noise.append(len(noise) * 1000 - 2000)  # known noise, so that the sum is known to the last digit
        return (value << own.places) + noise[-1]

    monkeypatch.setattr(GaussianShares, "number", counted)
    total = ran(members(tmp_path), gone)
    survivors = [place for place in VALUES if place not in gone[0] | gone[1]]
    true = sum(VALUES[place] for place in survivors)
    assert TASK.decoded(total) == (true + Fraction(sum(noise), 1 << TASK.noise.places),)
    assert len(noise) == len(survivors)


def test_with_its_noise_the_sum_is_near(tmp_path: Path) -> None:
    (found,) = TASK.decoded(ran(members(tmp_path, seed=5), (set(), {1}, set())))
    assert abs(found - (sum(VALUES.values()) - VALUES[1])) < 7 * TASK.noise.deviation


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        (({0, 1, 2}, set(), set()), "4 people are left of 7"),
        ((set(), {0, 1, 2}, set()), "4 people are left of 7"),
        ((set(), set(), {0, 1, 2}), "4 people agree on who survived"),
    ],
)
def test_too_few_have_no_sum(tmp_path: Path, gone: tuple[set[int], set[int], set[int]], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        ran(members(tmp_path), gone)


def uploaded(folder: Path) -> tuple[dict[int, Member], dict[int, str]]:
    people = members(folder)
    hellos = {place: one.hello() for place, one in people.items()}
    boxes = {place: one.boxes(hellos) for place, one in people.items()}
    uploads = {
        place: one.upload(VALUES[place], {other: box[place] for other, box in boxes.items() if other != place})
        for place, one in people.items()
    }
    return people, {place: one.signature for place, one in uploads.items()}


def test_nobody_tells_both_shares_of_one_person_whatever_the_aggregator_says(tmp_path: Path) -> None:
    people, signed = uploaded(tmp_path)
    some = {place: signed[place] for place in range(5)}
    agreements = {place: one.agreement(some if place < 4 else signed) for place, one in people.items()}
    for place, one in people.items():  # four said one thing, three another: neither list has five signatures
        alike = {other: agreements[other] for other in people if (other < 4) == (place < 4)}
        with pytest.raises(Refusal, match="agree on who survived, 5 have to"):
            one.shares(alike)
        with pytest.raises(Refusal, match="not the next step"):
            one.shares(agreements)
        with pytest.raises(Refusal, match="not the next step"):
            one.agreement(signed)


def test_who_restarts_signs_no_second_list_of_survivors(tmp_path: Path) -> None:
    uploaded(tmp_path)
    again = members(tmp_path)
    hellos = {place: one.hello() for place, one in again.items()}
    boxes = {place: one.boxes(hellos) for place, one in again.items()}
    with pytest.raises(Refusal, match="encrypted for epoch 0 already"):
        again[0].upload(VALUES[0], {other: box[0] for other, box in boxes.items() if other})
    said = TASK.statement("masked with", 0, people=[*range(7)])
    with pytest.raises(Refusal, match="not the next step"):
        again[0].agreement({place: key.sign(said).hex() for place, key in enumerate(KEYS)})


def test_signatures_of_another_list_or_person_or_epoch_do_not_count(tmp_path: Path) -> None:
    people, signed = uploaded(tmp_path / "a")
    some = {place: signed[place] for place in range(5)}
    agreements = {place: one.agreement(some if place < 4 else signed) for place, one in people.items()}
    with pytest.raises(Refusal, match="not that of person 4"):
        people[0].shares({place: agreements[place] for place in range(5)})
    people, signed = uploaded(tmp_path / "b")
    with pytest.raises(Refusal, match="not that of person 1"):
        people[0].agreement({**signed, 1: signed[2]})
    hellos = {place: one.hello() for place, one in members(tmp_path, 1).items()}
    now = members(tmp_path / "c")
    with pytest.raises(Refusal, match="not that of person 1"):
        now[0].boxes({0: now[0].hello(), **{place: hellos[place] for place in range(1, 7)}})


def test_what_is_told_of_each_person_is_one_share(tmp_path: Path) -> None:
    people, signed = uploaded(tmp_path)
    some = {place: signed[place] for place in range(5)}
    agreements = {place: one.agreement(some) for place, one in people.items()}
    for one in people.values():
        told = one.shares(agreements)
        assert set(told.seeds) == set(range(5))
        assert set(told.secrets) == {5, 6}


def test_a_second_round_of_an_epoch_sends_nothing(tmp_path: Path) -> None:
    uploaded(tmp_path)
    with pytest.raises(Refusal, match="encrypted for epoch 0 already"):
        uploaded(tmp_path)


def test_a_broken_box_and_a_wrong_share_are_noticed(tmp_path: Path) -> None:
    people = members(tmp_path)
    hellos = {place: one.hello() for place, one in people.items()}
    boxes = {place: one.boxes(hellos) for place, one in people.items()}
    mine = {other: boxes[other][0] for other in range(1, 7)}
    with pytest.raises(Refusal, match="box from person 3 is broken"):
        people[0].upload(1, {**mine, 3: mine[4]})
    uploads = {
        place: one.upload(1, {other: box[place] for other, box in boxes.items() if other != place})
        for place, one in people.items()
        if place > 0
    }
    wrong = Shares(dict.fromkeys(uploads, 1), {0: 1})
    with pytest.raises(Refusal, match="do not fit together"):
        added_up(TASK, 0, hellos, uploads, dict.fromkeys(range(1, 7), wrong))
    for other in (replace(wrong, seeds=dict.fromkeys(range(7), 1)), replace(wrong, secrets={})):
        with pytest.raises(Refusal, match="other people than those who uploaded"):
            added_up(TASK, 0, hellos, uploads, {**dict.fromkeys(range(1, 7), wrong), 2: other})


def test_a_value_out_of_range_may_be_said_again(tmp_path: Path) -> None:
    people = members(tmp_path)
    hellos = {place: one.hello() for place, one in people.items()}
    boxes = {place: one.boxes(hellos) for place, one in people.items()}
    mine = {place: box[0] for place, box in boxes.items() if place}
    for value in (-1, 101):
        with pytest.raises(Refusal):
            people[0].upload(value, mine)
    people[0].upload(100, mine)


def test_any_so_many_shares_give_the_secret_and_fewer_are_uniform() -> None:
    secret = bytes(range(32))
    shares = split(secret, 3, range(5), rng=Seeded(1))
    for some in combinations(shares.items(), 3):
        assert joined(dict(some)).to_bytes(66, "big")[-32:] == secret
    for few in combinations(shares.items(), 2):
        assert joined(dict(few)) != int.from_bytes(secret, "big")
    # for two shares every secret has exactly one third share that fits: shares of two secrets have one law
    halves = [split(bytes([i]), 2, [0], rng=Seeded(seed))[0] < PRIME // 2 for i in (0, 9) for seed in range(400)]
    assert abs(sum(halves[:400]) - 200) < 130
    assert abs(sum(halves[400:]) - 200) < 130


def test_noise_is_that_of_the_fewest_honest_survivors() -> None:
    assert TASK.honest == 4
    assert TASK.honest * TASK.noise.variance == Fraction(100**2) / (2 * HALF)
    assert TASK.privacy == Concentrated(Fraction(3, 2), 3 * Fraction(1, 2**128))
    assert TASK.noise.variance * 4**TASK.noise.places >= 64
    fine = MaskedSum("bits", PEOPLE, 1, Fraction(8), 5, 1, 5)
    assert fine.noise.variance * 4**fine.noise.places >= 64 > fine.noise.variance * 4 ** (fine.noise.places - 1)
    rng = Seeded(2)
    sums = np.array([sum(fine.noise.number(0, rng=rng) for _ in range(5)) for _ in range(1500)]) / 2**fine.noise.places
    assert abs(float(sums.std()) / fine.noise.deviation_of(5) - 1) < 0.1
    five = GaussianShares(fine.rho, 5, fine.honest)
    for confidence in (0.5, 0.95):
        assert not Coverage(int((np.abs(sums) <= five.error(confidence)).sum()), 1500).refuted(confidence)


def test_sums_of_shares_are_gaussian_to_the_chance_that_is_promised() -> None:
    """The lemma of the proof, by adding up a law: a sum of three shares against one Gaussian of its variance."""
    square = 2.0  # far below 64, where the distance can be seen in doubles

    def law(variance: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        heights = np.exp(-(np.arange(-60.0, 61.0) ** 2) / (2 * variance))
        return np.asarray(heights / heights.sum())

    whole = np.convolve(np.convolve(law(square), law(square)), law(square))[120:241]
    ratio = np.abs(np.log(whole[30:91] / law(3 * square)[30:91])).max()
    kappas = [2 * math.exp(-2 * math.pi**2 * square * j / (j + 1)) for j in (1, 2)]
    assert 0 < ratio <= sum(math.log((1 + kappa) / (1 - kappa)) for kappa in kappas) * 1.001
    # at a variance of 64, with 4096 people, as a power of two
    assert math.log2(4096 * 3 * 2.1) - 64 * math.pi**2 / math.log(2) < -128


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"threshold": 4}, "2 threshold > people"),
        ({"minimum": 4}, "threshold <= minimum"),
        ({"minimum": 8}, "minimum <= people"),
        ({"people": PEOPLE[:6] + PEOPLE[:1]}, "keys that differ"),
        ({"people": ("x", *PEOPLE[1:])}, "hexadecimal"),
        ({"limit": 1 << 60}, "fits 64 bits"),
        ({"rho": Fraction(0)}, "rho > 0"),
    ],
)
def test_what_would_not_be_private_or_not_be_read_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        replace(TASK, **change)  # type: ignore[arg-type]


def test_shares_of_people_become_numbers_of_people() -> None:
    task = MaskedSum.of("many", [f"{number:064x}" for number in range(100)], 10, HALF, failures="0.3", colluders="0.1")
    assert (task.minimum, task.colluders, task.threshold, task.honest) == (70, 10, 56, 60)
    none = MaskedSum.of("all", [f"{number:064x}" for number in range(100)], 10, HALF, failures=0, colluders=0)
    assert (none.minimum, none.colluders, none.threshold, none.honest) == (100, 0, 51, 100)
    assert task.decoded([MODULUS - (5 << task.noise.places)]) == (Fraction(-5),)


def test_a_stranger_takes_no_part_and_an_epoch_there_is_not_has_no_round(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="not among the people"):
        Member(TASK, 0, Ed25519PrivateKey.generate(), Outbox(tmp_path))
    with pytest.raises(Refusal, match="from 0 to 2"):
        Member(TASK, 3, KEYS[0], Outbox(tmp_path)).hello()
    with pytest.raises(Refusal, match="from 0 to 100"):
        TASK.noise.number(101)


def test_a_key_that_somebody_else_says_for_his_own_takes_no_mask_off(tmp_path: Path) -> None:
    """Person 0 repeats 2's key of masks: 1 adds the mask with 2 and takes that with 0 away. They must not cancel."""
    task = MaskedSum("three", PEOPLE[:3], 100, HALF, 3, 1, 3)
    people = [Member(task, 0, KEYS[place], Outbox(tmp_path / str(place))) for place in range(3)]
    hellos = {place: one.hello() for place, one in enumerate(people)}
    copied = task.statement("hello", 0, masks=hellos[2].masks, boxes=hellos[0].boxes)
    hellos[0] = Hello(hellos[2].masks, hellos[0].boxes, KEYS[0].sign(copied).hex())
    boxes = {place: people[place].boxes(hellos) for place in (1, 2)}
    people[0]._hellos = hellos
    box = people[0]._box(0, 1).encrypt(bytes(12), bytes(2 * WIDTH), None)
    (number,) = people[1].upload(50, {0: box, 2: boxes[2][1]}).numbers
    own = int(_stream(people[1]._seed, 1)[0])  # what the others tell of whoever survived
    seen = (number - own + MODULUS // 2) % MODULUS - MODULUS // 2
    assert abs(seen) >> task.noise.places > 1 << 24  # a mask is so small once in 2^38
