"""What the tests of sparse vector sessions share: two kinds, some values, and how to open and ask."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from doubles import Seeded

from discreet.errors import OverBudget
from discreet.mechanisms.session import Session
from discreet.mechanisms.sparse import Comparison, RefreshedSparseVector, SparseState, SparseVector

Opened = Session[SparseState, int, Comparison]
T = 50
KINDS: list[SparseVector | RefreshedSparseVector] = [
    SparseVector.of(1, T, 3, numeric=True, questions=40),
    RefreshedSparseVector(Fraction(1), T, 3, epsilon_numbers=Fraction(1), questions=40),
]
VALUES = [10, 60, 20, 45, 90, 0, 30, 52, 70, 48] * 2


def opened(mechanism: SparseVector | RefreshedSparseVector, folder: Path, seed: int = 1, name: str = "state") -> Opened:
    return mechanism.open(folder / name, folder / "key", dataset="v1", pay=lambda _: None, rng=Seeded(seed))


def asked(session: Opened, values: list[int], start: int = 0) -> list[Comparison]:
    """Each question has its own bits, so that a continuation can be compared with an uninterrupted run."""
    answers: list[Comparison] = []
    for i, value in enumerate(values, start=start):
        try:
            answers.append(replace(session, rng=Seeded(100 + i)).ask(value))
        except OverBudget:
            break
    return answers
