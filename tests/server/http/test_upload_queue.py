"""The inbox: uploads that wait together are written together, and each hears its own receipt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest
from survey.surveyed import ONE, Survey
from survey.test_collector_group import transactions

from discreet.errors import Refusal
from discreet.local import Response
from discreet.server.errors import HttpError
from discreet.server.fair_share import Pool
from discreet.server.http import surveys
from discreet.server.http.surveys import Inbox
from discreet.survey.intake import Sent
from discreet.transport.signed_task import Uninvited, UploadReceipt


@pytest.fixture
def survey(tmp_path: Path) -> Survey:
    return Survey(tmp_path, Response(ONE, 5), minimum=5)


async def all_of(*waiting: Awaitable[UploadReceipt]) -> list[UploadReceipt | BaseException]:
    return await asyncio.gather(*waiting, return_exceptions=True)


def sent(survey: Survey, many: int = 1) -> Sent:
    return Sent(survey.task.id, survey.upload([1] * many))


def test_uploads_that_wait_share_a_transaction(survey: Survey) -> None:
    pool, box = Pool(2, waiting=8), Inbox(survey.collector)
    uploads = [sent(survey) for _ in range(30)]
    before = transactions(survey.home)

    async def run() -> list[UploadReceipt | BaseException]:
        return await all_of(*(box.receipt(pool, each) for each in [*uploads, *uploads[:3]]))

    assert asyncio.run(run()) == [UploadReceipt(accepted=1)] * 30 + [UploadReceipt(replayed=1)] * 3
    assert transactions(survey.home) == before + 1
    assert asyncio.run(run()) == [UploadReceipt(replayed=1)] * 33  # in another loop as well
    pool.close()


def test_long_uploads_are_cut_into_groups(survey: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    pool, box = Pool(2, waiting=8), Inbox(survey.collector)
    monkeypatch.setattr(surveys, "_TOGETHER", 2 * len(sent(survey, 10).body))
    before = transactions(survey.home)

    async def run() -> list[UploadReceipt | BaseException]:
        return await all_of(*(box.receipt(pool, sent(survey, 10)) for _ in range(6)))

    assert asyncio.run(run()) == [UploadReceipt(accepted=10)] * 6
    assert transactions(survey.home) == before + 3
    pool.close()


def test_who_leaves_takes_nobody_with_them(survey: Survey) -> None:
    pool, box = Pool(1, waiting=8), Inbox(survey.collector)

    async def run() -> list[UploadReceipt | BaseException]:
        waiting = [asyncio.create_task(box.receipt(pool, sent(survey))) for _ in range(5)]
        await asyncio.sleep(0)
        waiting[2].cancel()
        return await all_of(*waiting)

    found = asyncio.run(run())
    assert [type(each) for each in found] == [
        UploadReceipt,
        UploadReceipt,
        asyncio.CancelledError,
        UploadReceipt,
        UploadReceipt,
    ]
    assert survey.counts == {"accepted": 5}  # it had arrived
    pool.close()


def test_each_hears_why_it_has_no_receipt(tmp_path: Path) -> None:
    survey = Survey(tmp_path, invited=True, minimum=1)
    (token,) = survey.collector.invite(survey.task.id, 1)
    pool, box = Pool(1, waiting=8), Inbox(survey.collector)

    async def run() -> list[UploadReceipt | BaseException]:
        return await all_of(box.receipt(pool, sent(survey)), box.receipt(pool, sent(survey)._replace(token=token)))

    stranger, receipt = asyncio.run(run())
    assert isinstance(stranger, Uninvited)
    assert receipt == UploadReceipt(accepted=1)
    whole = (tmp_path / "surveys.db").read_bytes()
    (tmp_path / "surveys.db").write_bytes(b"x" * 5000)
    broken = asyncio.run(run())
    assert [type(each) for each in broken] == [Refusal, Refusal]
    (tmp_path / "surveys.db").write_bytes(whole)
    stranger, receipt = asyncio.run(run())  # and the next is heard again
    assert (type(stranger), receipt) == (Uninvited, UploadReceipt(over_limit=1))
    pool.close()


def test_more_than_can_wait_are_sent_away(survey: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    pool, box = Pool(1, waiting=8), Inbox(survey.collector)
    monkeypatch.setattr(surveys, "MOST", 4)

    async def run() -> list[UploadReceipt | BaseException]:
        return await all_of(*(box.receipt(pool, sent(survey)) for _ in range(6)))

    found = asyncio.run(run())
    assert found[:4] == [UploadReceipt(accepted=1)] * 4
    assert all(isinstance(each, HttpError) and each.response.status == 503 for each in found[4:])
    pool.close()
