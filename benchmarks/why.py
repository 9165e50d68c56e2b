"""What an attacker gets at each price is below the ceiling that privacy proves: figures of the console's page Why.

One person: a noisy count of everybody, the whole price on it, and the answers of all others known. Everybody: 1024
secrets from 4096 counts by least squares. Who took part: whether a member of a study of 100 people scores higher than
an outsider, by the means of 10,000 columns. Shares are over 100,000 tries, 32 crowds and 100 studies: a standard error
is at most 0.5 %, and the page rounds to as much. Found, and the most that anybody can find.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from discreet.attack import ceiling, ceiling_of_many, inner_product, least_squares, matrix, subsets, told_apart
from discreet.exact import HALF
from discreet.mechanisms import LaplaceVector
from discreet.noise import SECURE, belows, flips, laplaces
from discreet.privacy import Pure

PRICES = ("0.1", "0.3", "1", "3", "10", "30", "100", "300", "1000")
TRIES, CROWDS, STUDIES = 100_000, 32, 100
PEOPLE, QUESTIONS = 1024, 4096
MEMBERS, COLUMNS = 100, 10_000


EXACT = Fraction(1000)  # for each answer: as good as no noise


def one_person(epsilon: Fraction) -> float:
    """The share of secrets that are guessed rightly: yes, if the noisy count is above that of all others."""
    secrets = flips(HALF, TRIES, rng=SECURE).astype(np.int64)
    told = secrets + laplaces(1 / epsilon, TRIES)
    return float(((told >= 1) == secrets.astype(bool)).mean())


def everybody(epsilon: Fraction) -> float:
    """The share of secrets that least squares names rightly."""
    members = matrix(subsets(QUESTIONS), PEOPLE)
    noisy = LaplaceVector(QUESTIONS / epsilon, QUESTIONS)
    found = []
    for _ in range(CROWDS):
        secrets = flips(HALF, PEOPLE, rng=SECURE).astype(np.int64)
        told = noisy((members @ secrets).astype(np.int64))
        found.append(float((least_squares(members, told) == secrets).mean()))
    return float(np.mean(found))


def who_took_part(epsilon: Fraction) -> float:
    """How often a member scores higher than an outsider."""
    noisy = LaplaceVector(COLUMNS / epsilon, COLUMNS)
    areas = []
    for _ in range(STUDIES):
        chances = 13 + belows(231, COLUMNS)
        inside, outside, practice, others = (
            np.asarray(belows(256, MEMBERS * COLUMNS).reshape(MEMBERS, COLUMNS) < chances, dtype=np.float64)
            for _ in range(4)
        )
        means = np.asarray(noisy(inside.sum(axis=0).astype(np.int64))) / MEMBERS
        scores = (inner_product(people, others.mean(axis=0), means) for people in (inside, outside, practice))
        areas.append(told_apart(*scores).area)
    return float(np.mean(areas))


def rows() -> Iterator[tuple[str, ...]]:
    """One for each price: found and ceiling of each attack, in per cent."""
    for price in (*PRICES, "without noise"):
        if price == "without noise":
            exact = one_person(EXACT), everybody(EXACT * QUESTIONS), who_took_part(EXACT * COLUMNS)
            yield (price, *(f"{100 * each:.1f} / 100.0" for each in exact))
            continue
        epsilon = Fraction(price)
        limits = (
            ceiling(Pure(epsilon)),
            ceiling_of_many(Pure(epsilon / QUESTIONS), QUESTIONS),
            ceiling_of_many(Pure(epsilon / COLUMNS), COLUMNS),
        )
        found = one_person(epsilon), everybody(epsilon), who_took_part(epsilon)
        yield (
            price,
            *(f"{100 * each:.1f} / {100 * float(most):.1f}" for each, most in zip(found, limits, strict=True)),
        )


def main() -> None:
    """Print the table: what was found, and the most that anybody can find."""
    print("| ε | one person | everybody | who took part |", "|---|---|---|---|", sep="\n")
    for row in rows():
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
