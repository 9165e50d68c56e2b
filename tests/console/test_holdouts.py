"""What the budget page shows of holdouts: intervals for the population, to those who may see them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import clinic
import pytest
from console.conftest import opened, watched
from console.test_records import card, shown
from playwright.sync_api import Browser, expect

import discreet as dp
from discreet.console.holdouts import interval, premise, seen
from discreet.desk import HOME, Desk
from discreet.mechanisms import SparseVector
from discreet.validity import AdaptiveCounts, Claim, Thresholdout, claims

PEOPLE = "SELECT count(DISTINCT patient) FROM visits"


def test_sessions_that_prove_something_are_read_and_others_are_not(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", epsilon=10**6, delta="1e-6")
    db = dp.open(home)
    holdout = db.open_session(Thresholdout(Fraction(900), 5, 1000, hard=30, questions=40), "visits")
    counts = db.open_session(AdaptiveCounts(Fraction(1), 1000, 5, delta=Fraction(1, 10**7)), "visits")
    db.open_session(Thresholdout(Fraction(1), 5, 1000), "visits")  # not asked yet
    db.open_session(SparseVector.of(1, 5), "visits").ask(PEOPLE)
    for _ in range(22):
        holdout.ask(PEOPLE, guess=0)
    counts.ask(PEOPLE)
    desk = Desk(home)
    read = seen(desk, HOME, desk.sessions(HOME).all())
    assert [each.status.entry for each in read] == [counts.entry, holdout.entry]
    assert [turn for turn, _ in read[1].latest] == list(range(3, 23))
    assert [claim for _, claim in read[1].latest] == list(claims(holdout.mechanism, holdout.answers))[2:]
    ((_, claim),) = read[0].latest
    assert (claim.low, claim.high) == (counts.answers[0].low, counts.answers[0].high)
    assert read[0].confidence == 0.95
    said = premise(read[0])  # of other questions to these rows there is no theorem
    assert "If 1000 people are in visits, drawn independently" in said
    assert "knew nothing of their rows but these answers" in said


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [("0.1234", "0.5671", "12.3 to 56.8 %"), ("0", "1", "0.0 to 100.0 %"), ("0.5", "0.5", "50.0 to 50.0 %")],
)
def test_intervals_are_rounded_outward(low: str, high: str, said: str) -> None:
    assert interval(Claim(Fraction(1, 2), hard=True, low=Fraction(low), high=Fraction(high))) == said


@pytest.mark.slow
def test_the_budget_page_shows_them(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    with opened(tmp_path_factory.mktemp("holdouts"), epsilon=2000) as place:
        ann = place.server.connect(place.tokens["ann"])
        session = ann.open_session(Thresholdout(Fraction(900), 5, 1000), "visits")
        session.ask(PEOPLE, guess=0)
        with watched(chromium, place) as visitor:
            patient = card(shown(visitor, "ann", "/budget"), "patient")
            title = f"Session {session.entry}: what holds of everybody"
            expect(patient.get_by_role("heading", name=title)).to_be_visible()
            row = patient.get_by_role("region", name=title).locator("tbody tr")
            expect(row).to_have_count(1)
            expect(row).to_contain_text("%")
