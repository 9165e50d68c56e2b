"""Surveys in the console: a custodian makes one and sees what it would come to, people answer, everybody reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import clinic
import pytest
from browser import NARROW
from console.conftest import Place, Watched, opened, settled, watched
from playwright.sync_api import Browser, Page, expect

from discreet.console.survey_page import whole
from discreet.console.surveys import BLANK, MANY, MOST, PRICES, answers, figures
from discreet.curator.custody import Custody
from discreet.desk import HOME, Desk, Visitor
from discreet.desk.surveys import Outlook, SurveyPlan, Surveys, enough, fitting, guessed, lines
from discreet.errors import Refusal
from discreet.local import DuchiMean, OptimizedUnary, Response
from discreet.privacy import Guarantee, Pure, Replace, shuffled
from discreet.server.http import survey_pages
from discreet.survey.collector import Collector
from discreet.survey.shuffle import DELTA
from discreet.survey.task import Task, drafted, fresh_ids, packed
from discreet.transport.signed_task import written

ALBUMS = ("none", "1", "2", "3", "4")
QUESTION = "How many <b>albums</b> do you own?"


@pytest.fixture(scope="module")
def survey_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with opened(tmp_path_factory.mktemp("surveys"), "--rate", "200") as place:
        yield place


@pytest.fixture
def visitor(chromium: Browser, survey_place: Place) -> Iterator[Watched]:
    with watched(chromium, survey_place) as found:
        yield found


def answered(home: Path, task: Task, truths: list[int], token: str | None = None) -> None:
    """So many people answer, each on a device of their own."""
    body = packed(task, fresh_ids(len(truths)), task.client.batch(truths))
    assert Collector(home).receive(task.id, body, token).accepted == len(truths)


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


# figures --------------------------------------------------------------------------------------------------------------


def test_the_client_with_the_smaller_error_is_taken() -> None:
    for epsilon in PRICES:
        for choices in (2, 5, 10, 20, 50):
            taken = Outlook(fitting(epsilon, choices), 1).client
            others = Response(epsilon, choices), OptimizedUnary(epsilon, choices)
            least = min(each.odds.variance(Fraction(0)) for each in others)
            assert taken.odds.variance(Fraction(0)) == least


def test_figures_say_what_the_mechanism_does() -> None:
    found = figures(2, Fraction(1), 1000, 100)
    assert (found.guess, found.own) == ("74 of 100", "73 of 100")  # e/(1+e) = 0.7311
    assert found.exact == "± 6.2"  # (1.96 √(0.7311 · 0.2689 / 1000) + 0.974 / 1000) / 0.4621 = 0.0616
    assert dict(found.facts)["Report alone"] == "ε = 1, pure"
    crowd = Outlook(fitting(1, 2), 1000).crowd(100)
    assert crowd.honest == 100  # the fewest, not those who are expected
    assert crowd == Outlook(fitting(1, 2), 10**6).crowd(100)
    alone = Guarantee(Pure(1), Replace())
    assert crowd.shuffled == shuffled(alone, 100, delta=DELTA, randomizer="binary").loss
    assert Outlook(fitting(1, 2), 1000).crowd(100, dishonest=400).honest == 100
    assert "among the fewest, 100 honest reports" in dict(found.facts)["All reports, shuffled"]
    told = re.findall(r"ε ≤ (\S+) at δ = 1e-08", dict(found.facts)["All reports, shuffled"])
    assert crowd.shuffled.epsilon <= Fraction(told[0]) < crowd.shuffled.epsilon * Fraction(101, 100)
    assert figures(1, Fraction(1), 1000, 100) == BLANK
    assert figures(5, Fraction(1), 0, 100) == BLANK
    assert figures(MOST, Fraction(1), 1000, 100).facts
    assert figures(MOST + 1, Fraction(1), 1000, 100) == MANY
    assert MOST == survey_pages.MOST


@pytest.mark.parametrize("people", [100, 10**12 - 1])
def test_no_figure_is_better_than_the_truth(people: int) -> None:
    for epsilon in PRICES[::4]:
        for choices in (2, 20):
            outlook = Outlook(fitting(epsilon, choices), people)
            found = figures(choices, epsilon, people, 1)
            assert 0 < outlook.error <= float(found.exact.removeprefix("± ")) < outlook.error + 0.1 + 1e-9
            crowd = outlook.crowd(1)
            told = dict(found.facts).get("All reports, shuffled")
            if told is not None:
                assert Fraction(told.split()[2]) >= crowd.shuffled.epsilon


def test_too_few_people_are_told_so() -> None:
    assert figures(5, Fraction(1), 50, 100).note == "Nothing is told below 100 reports, and you expect 50."


def test_so_many_people_are_enough_and_one_fewer_is_not() -> None:
    client = fitting(1, 5)
    people = enough(client, 5)
    assert Outlook(client, people).error <= 5 < Outlook(client, people - 1).error


def test_a_guess_is_rounded_up() -> None:
    assert [guessed(Fraction(each)) for each in ("0.000001", "1", "5", "20")] == [51, 74, 100, 100]


def test_what_is_typed() -> None:
    assert answers(" a \n\n b\n") == ("a", "b")
    assert [whole(each) for each in ("12", " 1,000 ")] == [12, 1000]
    assert [whole(each) for each in ("", None, "-3", "1e3", "٣", "9" * 13)] == [0] * 6


# who may --------------------------------------------------------------------------------------------------------------


def test_custodians_make_and_analysts_read(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home")
    custody, desk = Custody(home), Desk(home)
    custody.let_in("ann", "analyst")
    custody.let_in("cleo", "custodian")
    ann, cleo, surveys = desk.visitor("ann"), desk.visitor("cleo"), Surveys(desk)
    task = surveys.made(cleo, SurveyPlan(QUESTION, ALBUMS, 1, minimum=5, invited=True))
    assert [each.task for each in surveys.listed(ann)] == [task]
    assert surveys.one(ann, task.id[:8]).task == task
    (token,) = surveys.invited(cleo, task.id, 1)
    for forbidden in (
        lambda who: surveys.made(who, SurveyPlan(QUESTION, ALBUMS, 1)),
        lambda who: surveys.invited(who, task.id, 1),
        lambda who: surveys.closed(who, task.id),
    ):
        with pytest.raises(Refusal, match="custodians"):
            forbidden(ann)
    answered(home, task, [1], token)
    with pytest.raises(Refusal, match="fewer than the 5 reports"):
        surveys.closed(cleo, task.id)
    assert not surveys.one(ann, task.id).closed
    with pytest.raises(Refusal, match="no results yet"):
        surveys.results(ann, task.id)
    for other in surveys.invited(cleo, task.id, 4):
        answered(home, task, [1], other)
    found = surveys.closed(cleo, task.id)
    assert surveys.results(ann, task.id) == found
    assert [line.label for line in lines(found)] == list(ALBUMS)
    assert sum(line.share for line in lines(found)) == pytest.approx(100)
    custody.shut_out("ann")
    with pytest.raises(Refusal, match="any more"):
        surveys.listed(ann)
    for reading in (surveys.one, surveys.results):
        with pytest.raises(Refusal, match="any more"):
            reading(ann, task.id)


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (SurveyPlan("", ALBUMS, 1), "question"),
        (SurveyPlan("?", ("yes",), 1), "two answers or more"),
        (SurveyPlan("?", ("yes", "yes"), 1), "each once"),
        (SurveyPlan("?", ALBUMS, 0), "epsilon"),
        (SurveyPlan("?", ALBUMS, 1, minimum=0), "minimum"),
        (SurveyPlan("?", ALBUMS, 1, days=0), "days"),
    ],
)
def test_a_plan_that_is_none_is_refused(tmp_path: Path, plan: SurveyPlan, sentence: str) -> None:
    surveys = Surveys(Desk(clinic.home(tmp_path / "home")))
    with pytest.raises(Refusal, match=sentence):
        surveys.made(HOME, plan)
    assert surveys.listed(HOME) == []


def test_a_name_is_the_beginning_of_one_id(tmp_path: Path) -> None:
    surveys = Surveys(Desk(clinic.home(tmp_path / "home")))
    first = surveys.made(HOME, SurveyPlan("One?", ALBUMS, 1))
    assert surveys.one(HOME, first.id[:4]).task == first
    for name in ("", "g", first.id + "0"):
        with pytest.raises(Refusal, match="no such survey"):
            surveys.one(HOME, name)
    stranger = Visitor("eve", "custodian", "00")
    with pytest.raises(Refusal):
        surveys.made(stranger, SurveyPlan("One?", ALBUMS, 1))


# in a browser ---------------------------------------------------------------------------------------------------------


def test_a_survey_from_the_first_word_to_its_results(visitor: Watched, survey_place: Place) -> None:
    page = visitor.signed_in("cleo", "/surveys")
    expect(page.get_by_text("There is no survey yet.")).to_be_visible()
    page.get_by_role("link", name="New survey").click()
    settled(page)
    button = page.get_by_role("button", name="Open the survey")
    expect(button).to_be_disabled()
    page.get_by_label("Question").fill(QUESTION)
    page.get_by_label("Answers, each on a line of its own").fill("\n".join(ALBUMS))
    page.get_by_label("Fewest reports").fill("20")
    tiles = page.locator(".d-tile strong")
    expect(tiles).to_have_text(["74 of 100", "± 12.3", "40 of 100"])
    page.get_by_label("People you expect").fill("10,000")
    expect(tiles).to_have_text(["74 of 100", "± 3.8", "40 of 100"])
    slider = page.locator(".q-slider [tabindex]")
    slider.press("ArrowRight")
    expect(page.get_by_text("Privacy price 1.5")).to_be_visible()
    expect(tiles.first).to_have_text("82 of 100")
    slider.press("ArrowLeft")
    expect(tiles.first).to_have_text("74 of 100")
    button.click()
    page.wait_for_url(re.compile(r"/surveys\?id="))
    settled(page)
    expect(page.get_by_role("heading", name=QUESTION)).to_be_visible()
    expect(page.get_by_text("0 of the 20 reports that it takes")).to_be_visible()
    expect(page.get_by_role("button", name="Close and count")).to_be_disabled()
    (standing,) = Surveys(Desk(survey_place.home)).listed(HOME)
    task = standing.task
    assert (task.question, task.domain, task.minimum, str(task.client.epsilon)) == (QUESTION, ALBUMS, 20, "1")
    expect(page.get_by_text(f"{survey_place.url}/survey/{task.id}", exact=True)).to_be_visible()
    answered(survey_place.home, task, [0, 1, 1, 2, 4] * 8)
    page.reload()
    settled(page)
    page.get_by_role("button", name="Close and count").click()
    page.get_by_label(f"Type {task.id[:8]} to go on").fill(task.id[:8])
    page.get_by_role("dialog").get_by_role("button", name="Close and count").click()
    expect(page.get_by_role("heading", name="What it came to")).to_be_visible()
    expect(page.get_by_text("40 reports. Within the thin lines the truth is 19 times in 20")).to_be_visible()
    expect(page.get_by_text("One made-up report in a hundred can move each share by up to 3.3")).to_be_visible()
    assert page.locator(".d-wide-picture svg").count() == 1
    page.get_by_text("As a table").click()
    shown = page.locator("tbody td:first-child").all_inner_texts()
    assert shown == list(ALBUMS)


def test_an_analyst_reads_and_makes_nothing(visitor: Watched, survey_place: Place) -> None:
    task = Surveys(Desk(survey_place.home)).made(HOME, SurveyPlan("Tea or coffee?", ("tea", "coffee"), 1))
    page = visitor.signed_in("ann", "/surveys?new=1")
    expect(page.get_by_role("link", name="Tea or coffee?")).to_be_visible()
    expect(page.get_by_role("link", name="New survey")).to_have_count(0)
    expect(page.get_by_role("button", name="Open the survey")).to_have_count(0)
    page.get_by_role("link", name="Tea or coffee?").click()
    settled(page)
    expect(page.get_by_text(f"/survey/{task.id}")).to_be_visible()
    expect(page.get_by_role("button", name="Close and count")).to_have_count(0)
    page.goto(f"{visitor.url}/surveys?id=ffff")
    expect(page.get_by_text("There is no such survey: 'ffff'.")).to_be_visible()


def test_invitations_on_a_small_screen(visitor: Watched, survey_place: Place) -> None:
    task = Surveys(Desk(survey_place.home)).made(HOME, SurveyPlan("For the invited?", ("yes", "no"), 1, invited=True))
    page = visitor.page()
    page.set_viewport_size(NARROW)
    visitor.let_in("cleo")
    page.goto(f"{visitor.url}/surveys?id={task.id}")
    settled(page)
    page.get_by_role("button", name="Invite people").click()
    page.get_by_label("How many people").fill("0")
    page.get_by_role("button", name="Make the links").click()
    expect(page.get_by_role("alert")).to_contain_text("people")
    page.get_by_label("How many people").fill("3")
    page.get_by_role("button", name="Make the links").click()
    expect(page.get_by_role("heading", name="3 invitations")).to_be_visible()
    links = page.locator(".d-links pre").inner_text().split()
    assert len(set(links)) == 3
    assert all(link.startswith(f"{survey_place.url}/survey/{task.id}#") for link in links)
    assert fits(page)
    answered(survey_place.home, task, [1], links[0].partition("#")[2])
    for path in ("/surveys", "/surveys?new=1"):
        page.goto(visitor.url + path)
        settled(page)
        assert fits(page)


def test_too_few_reports_and_results_that_are_no_shares(visitor: Watched, survey_place: Place) -> None:
    surveys, collector = Surveys(Desk(survey_place.home)), Collector(survey_place.home)
    few = surveys.made(HOME, SurveyPlan("Of nobody?", ALBUMS, 1, minimum=5))
    answered(survey_place.home, few, [1, 2])
    collector.close(few.id)
    now = datetime.now(UTC)
    mean = collector.publish(
        drafted(
            "How much?",
            DuchiMean(Fraction(1), Fraction(0), Fraction(10)),
            (),
            opens=written(now),
            closes=written(now + timedelta(days=1)),
            minimum=2,
        )
    )
    answered(survey_place.home, mean, [1, 2, 3])
    collector.close(mean.id)
    collector.collect(mean.id)
    page = visitor.signed_in("cleo", f"/surveys?id={few.id}")
    expect(page.get_by_text("There will be no results.")).to_be_visible()
    expect(page.get_by_role("button", name="Close and count")).to_have_count(0)
    page.goto(f"{visitor.url}/surveys?id={mean.id}")
    settled(page)
    expect(page.get_by_text("3 reports were counted. They come to no shares")).to_be_visible()
    page.goto(f"{visitor.url}/survey/{mean.id}/results")
    expect(page.get_by_role("heading", name="The results are for programs")).to_be_visible()
