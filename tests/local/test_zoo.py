"""The wrong clients of the zoo: what they lose, exactly, and that their sound relatives lose no more than they say."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from doubles import Seeded
from mechanisms.chances import fits

from discreet.audit import ZOO, Specimen, audit, enumerated
from discreet.audit.zoo_wrong_noise import SOUND
from discreet.local import LocalHashing
from discreet.privacy import Pure
from discreet.privacy.divergence import Channel

PAIR = ZOO["never-cleared"].pair


def test_the_sound_relative_is_not_refuted() -> None:
    specimen = Specimen("sound", Pure(1), PAIR, "none", "none", lambda v, n, rng: SOUND.sample(v, n, rng=rng))
    assert not audit(specimen, samples=100_000, alpha="1e-9", rng=Seeded(1)).refuted


def test_a_bit_that_is_never_cleared_loses_everything_exactly() -> None:
    """By enumeration: the report without a value's bit has probability 0 for that value alone."""
    q = SOUND.odds.other
    rows = {
        v: {
            i: (q ** (i.bit_count() - 1) * (1 - q) ** (4 - i.bit_count()) if i >> v & 1 else Fraction(0))
            for i in range(16)
        }
        for v in range(4)
    }
    found = enumerated(Channel(rows), [PAIR], Pure(1))
    assert found.epsilon is None
    assert found.kept is False


@pytest.mark.parametrize(("name", "most"), [("half-the-lies", 2 * math.e + 1), ("told-twice", math.e**2)])
def test_the_worst_report_is_as_much_likelier_as_is_stated(name: str, most: float) -> None:
    """The set of the one value alone, or twice that: its share in runs on both values, by exact tails at 1e-10 each."""
    worst, times = (np.array([1]), 1) if name == "half-the-lies" else (np.array([1, 1]), 2)
    lie, runs, law = 1 / (math.e + 1) / (3 - times), 100_000, []
    for value, chance in ((0, (1 - lie) ** 3 / 2), (1, lie * (1 - lie) ** 2 / 2)):
        drawn = np.asarray(ZOO[name].sample(value, runs, rng=Seeded(5)))
        law.append({True: chance**times, False: 1 - chance**times})
        assert fits(np.all(drawn == worst, axis=1).tolist(), law[-1], 1e-10)
        assert not fits(np.all(drawn == worst, axis=1).tolist(), law[0] if value else {True: 0.2, False: 0.8})
    assert law[0][True] / law[1][True] == pytest.approx(most)
    assert most > 1.5 * math.e


@pytest.mark.slow
def test_a_hash_whose_cell_is_told_truly_too_often_is_refuted() -> None:
    """The function is told with the cell, so an audit must weigh both: it can, as the client knows its own law."""
    louder = LocalHashing(Fraction(3, 2), 50)
    assert audit(louder, claim=Pure(1), samples=20_000, alpha="1e-6", rng=Seeded(1)).refuted
    assert not audit(louder, claim=Pure(Fraction(3, 2)), samples=20_000, alpha="1e-6", rng=Seeded(1)).refuted
