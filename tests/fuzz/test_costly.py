# ruff: noqa: E501  # a question stands on one line
"""One person does not decide whether a question ends: rows out of every operator are counted, with them and without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from fuzz import grammar
from fuzz.costly import ALIKE, HOSTILE, ROWS, Costly, beyond, home, measured, planned

from discreet.curator import Curator
from discreet.declared.table import MOST_ROWS_A_UNIT
from discreet.errors import Refusal
from discreet.sql.owned_rows import Capped, Filter, Project, PublicJoin, Rows, below


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Costly]:
    made = Costly(tmp_path_factory.mktemp("costly"))
    yield made
    for curator in made.curators:
        curator._store.close()


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Curator:
    return Curator(home(tmp_path_factory.mktemp("costly") / "home", expensive=False, others=1))


@pytest.mark.slow
def test_hostile_questions_stay_within_what_one_person_may_add(pair: Costly) -> None:
    told = list(measured(pair, list(HOSTILE)))
    assert len(told) == len(HOSTILE)  # all of them are answered
    assert [text for text, one, more in told if beyond(one, more, pair.size())] == []


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(4))
def test_so_do_made_up_ones(pair: Costly, chunk: int) -> None:
    texts = [grammar.question(seed) for seed in range(1000 * chunk, 1000 * chunk + 60)]
    told = list(measured(pair, texts))
    assert len(told) > 15
    assert [text for text, one, more in told if beyond(one, more, pair.size())] == []


@pytest.mark.slow
def test_it_notices_rows_that_are_not_held(pair: Costly) -> None:
    (part,) = pair.planned(HOSTILE[0])
    free = replace(part, rows=_free(part.rows))
    assert free != part
    one, more = pair.costs(free)
    assert beyond(one, more, pair.size())
    assert more.rows >= ROWS * ALIKE**2


def _free(rows: Rows) -> Rows:
    """The same rows, of which a person brings as many into a public join as they have."""
    if isinstance(rows, PublicJoin) and isinstance(rows.source, Capped):
        return replace(rows, source=rows.source.source)
    assert isinstance(rows, (PublicJoin, Filter, Project))
    return replace(rows, source=_free(rows.source))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("visits v" + "".join(f" JOIN wards w{i} ON w{i}.ward = v.ward" for i in range(11)), 36_028_797_018_963_968),
        ("visits v, wards a, wards b, regions r WHERE a.ward = v.ward AND v.ward = b.ward AND r.region = v.region", 32_768),
        ("visits v LEFT JOIN wards a ON a.ward = v.ward LEFT JOIN wards b ON b.ward = v.ward AND b.beds > v.cost LEFT JOIN wards c ON lower(c.ward) = v.ward", 32_768),
        ("(SELECT v.ward AS x, v.region FROM visits v JOIN wards a ON a.ward = v.ward WHERE a.beds > 0) t JOIN wards b ON b.ward = t.x JOIN regions r ON r.region = t.region", 32_768),
        ("visits v JOIN wards a ON a.beds - a.beds = length(v.ward) - 2 JOIN wards b ON b.ward = v.ward", 1_216),
    ],
)  # fmt: skip
def test_what_becomes_too_many_rows_is_refused_with_their_number(curator: Curator, text: str, number: int) -> None:
    with pytest.raises(Refusal, match=f"one row could become {number:,} rows beside public ones"):
        planned(curator, f"SELECT count(*) FROM {text}")


def test_what_union_puts_together_shares_the_room(curator: Curator) -> None:
    joined = "SELECT v.patient FROM visits v JOIN wards a ON a.ward = v.ward JOIN regions r ON r.region = v.region"
    (part,) = planned(curator, f"SELECT count(*) FROM ({' UNION ALL '.join([joined] * 4)}) t")
    assert part.rows.size > 0
    caps = [each.most for each in _every(part.rows) if isinstance(each, Capped)]
    assert len(caps) == 4
    assert sum(caps) * ALIKE**2 <= MOST_ROWS_A_UNIT
    with pytest.raises(Refusal, match="UNION ALL combines so many joins"):
        planned(curator, f"SELECT count(*) FROM ({' UNION ALL '.join([joined] * 20)}) t")


def _every(rows: Rows) -> Iterator[Rows]:
    yield rows
    for source in below(rows):
        yield from _every(source)


def test_it_is_told_how_many_rows_of_a_person_are_joined(curator: Curator) -> None:
    said = curator.explain("SELECT count(*) FROM visits v JOIN wards w ON w.ward = v.ward", epsilon=1)
    assert "Of a person with more than 32,768 rows, 32,768 are joined with wards." in said.bounding
    assert "Of one with more than 2,097,152 bytes of text in them, those that hold no more are joined." in said.bounding
    plain = curator.explain("SELECT count(*) FROM visits v JOIN wards w ON w.beds = v.cost", epsilon=1)
    assert "joined with" in plain.bounding  # many wards have the same number of beds
    alone = curator.explain("SELECT count(*) FROM visits", epsilon=1)
    assert "joined with" not in alone.bounding
