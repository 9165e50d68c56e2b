"""`discreet attack`: what an adversary does with answers about made-up people, exact ones and those of a curator."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from fractions import Fraction
from math import isqrt, nextafter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import NoHome, new_app, option
from discreet.cli.printing import AsFormat, Format, busy, print_rows
from discreet.errors import Refusal
from discreet.exact import nonnegative, positive

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.attack import Outcome, Subset
    from discreet.curator import Curator

    Bits = NDArray[np.int64]

app = new_app()

Row = tuple[object, ...]

_HEAD = ("answers", "attack", "questions", "recovered", "of", "share", "blind", "ceiling")
_MEMBERS = ("answers", "attack", "members", "columns", "area", "members named", "others named", "ceiling of area")
_BLOCKS = ("published", "blocks that fit", "people known", "of")
_LINKED = ("published", "known", "people", "named rightly", "named wrongly")
_CELLS = 1 << 24  # of made-up genomes
_ASKED = 64  # columns of genomes of which a curator is asked
_AT_ONCE = 64  # sums in one question
_AGAIN = 20  # times that the curator is asked the same
_UNCOUNTED = 200  # times that a system is asked which draws anew and counts nothing

People = Annotated[int, option("N", "How many people are made up.")]
Price = Annotated[str, option("E", "The curator's whole budget.")]


class Method(StrEnum):
    """How secrets are computed from counts."""

    squares = "least-squares"
    program = "linear-program"
    exhaustive = "exhaustive"


@app.callback()
def attack() -> None:
    """What an adversary does with answers: made-up people with a secret each, and who learns it.

    Every person is made up for the attack; no home is looked into.
    """


@app.command()
def difference(
    *,
    n: People = 64,
    epsilon: Price = "1",
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """Take answers apart by subtraction: of the first k and the first k - 1, and of everyone but one."""
    from discreet.attack import averaged, ceiling_of_many, everyone_but, partial_sums, scored
    from discreet.mechanisms import Laplace
    from discreet.privacy import Pure

    total, people = positive(epsilon, "--epsilon"), _people(n)
    everyone = range(n)

    def each_but(ask: Callable[[frozenset[int]], float]) -> list[bool]:
        return [everyone_but(ask, everyone, host) > 0.5 for host in everyone]

    def true_sum(who: frozenset[int]) -> int:
        return int(people[sorted(who)].sum())

    noisy = Laplace(1 / total)
    rows = [
        _row("exact", "Q(k) - Q(k-1)", n, scored(partial_sums(lambda k: true_sum(frozenset(range(k))), n), people)),
        _row("exact", "everyone but one", n + 1, scored(each_but(true_sum), people)),
        _row(
            "noise, never counted",
            f"everyone but one, {_UNCOUNTED} times",
            2 * n * _UNCOUNTED,
            scored(each_but(lambda who: averaged(lambda: noisy(true_sum(who)), _UNCOUNTED).mean), people),
        ),
    ]
    with busy("asking a curator"), _curator(people, total, ("sums", "others")) as curator:
        sums = partial_sums(lambda k: _told(curator, f"FROM sums WHERE seat < {k}", total / n), n)
        rows.append(_row("curator", "Q(k) - Q(k-1)", n, scored(sums, people, ceiling_of_many(Pure(total / n), n))))

        def paid(who: frozenset[int]) -> float:
            left_out = [str(seat) for seat in everyone if seat not in who]
            where = f" WHERE seat <> {left_out[0]}" if left_out else ""
            return averaged(lambda: _told(curator, f"FROM others{where}", total / (n + 1)), _AGAIN).mean

        told = scored(each_but(paid), people, ceiling_of_many(Pure(total / (n + 1)), n + 1))
        rows.append(_row("curator", f"everyone but one, {_AGAIN} times", n + 1, told))
    _print(form, rows)


@app.command()
def reconstruct(  # noqa: PLR0913  # one option for each thing that the attack rests on
    *,
    n: People = 256,
    questions: Annotated[int | None, option("M", "How many counts are asked, by default four for each person.")] = None,
    epsilon: Price = "1",
    error: Annotated[str, option("C", "Bounded noise to compare with: up to C·√n off.")] = "0.25",
    method: Annotated[Method, typer.Option("--method", help="How the secrets are computed.")] = Method.squares,
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """Recover everybody's secret from counts over random subsets, as by Dinur and Nissim."""
    import numpy as np

    from discreet.attack import ceiling_of_many, matrix, scored, subsets
    from discreet.noise import below
    from discreet.privacy import Pure

    total, people = positive(epsilon, "--epsilon"), _people(n)
    asked = 4 * n if questions is None else questions
    if asked < 1:
        raise Refusal(f"--questions takes a whole number from 1 on, got {asked}")
    far = isqrt(int(nonnegative(error, "--error") ** 2 * n))
    chosen = subsets(asked)
    members = matrix(chosen, n)
    true = members @ people
    off = np.array([below(2 * far + 1) - far for _ in range(asked)])
    rows = [
        _row("exact", method.value, asked, scored(_solved(method, members, true, 0), people)),
        _row(f"at most {far} off", method.value, asked, scored(_solved(method, members, true + off, far), people)),
    ]
    with busy("asking a curator"), _curator(people, total, ("people",)) as curator:
        told = np.array(list(_counts(curator, chosen, total)))
    guess = _solved(method, members, told, None)
    rows.append(
        _row("curator", method.value, asked, scored(guess, people, ceiling_of_many(Pure(total / asked), asked)))
    )
    _print(form, rows)


@app.command()
def member(
    *,
    n: People = 100,
    columns: Annotated[int, option("D", "How many columns of zeros and ones each person has.")] = 10_000,
    epsilon: Price = "1",
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """Name the members of a study by the means of its columns, as by Homer and others in 2008."""
    import numpy as np

    from discreet.attack import ceiling_of_many, homer, inner_product, told_apart
    from discreet.mechanisms import LaplaceVector
    from discreet.privacy import Pure

    total = positive(epsilon, "--epsilon")
    if not (2 <= n <= 4096 and columns >= 1 and n * columns <= _CELLS):
        raise Refusal(f"--n takes from 2 to 4096 people, with at most {_CELLS} cells in all, got {n} times {columns}")
    inside, outside, practice, others = _genomes(n, columns)
    sums, scores = inside.sum(axis=0), {"homer": homer, "inner product": inner_product}
    noisy = LaplaceVector(columns / total, columns)(sums.astype(np.int64))
    most = ceiling_of_many(Pure(total / columns), columns)
    published = [
        ("exact means", sums / n, None),
        ("to 5 %", np.round(sums / n * 20) / 20, None),
        ("noisy", noisy / n, most),
    ]
    if columns <= _ASKED:
        with busy("asking a curator"):
            published.append(("curator", _means(inside, total), most))
    rows: list[Row] = []
    for answers, means, limit in published:
        for name, score in scores.items():
            told = told_apart(*(score(people, others.mean(axis=0), means) for people in (inside, outside, practice)))
            cells = told.area, told.caught, told.alarmed, None if limit is None else nextafter(float(limit), 2)
            rows.append((answers, name, n, columns, *cells))
    _print(form, rows, _MEMBERS, 4)


def _means(rows: NDArray[np.float64], epsilon: Fraction) -> NDArray[np.float64]:
    """The means of the columns, by one question to a curator of these people, whose number is public."""
    import numpy as np
    import pyarrow as pa

    from discreet.curator import Curator
    from discreet.curator.custody import Custody, Declared, found_home

    names = [f"c{column}" for column in range(rows.shape[1])]
    table = pa.table(dict(zip(names, rows.T.astype(np.int64), strict=True)))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        found_home(home, practice=True)
        said = Declared(unit="row", epsilon=epsilon, relation="replace", bounds=dict.fromkeys(names, (0, 1)))
        Custody(home).add("study", table, said)
        sums = ", ".join(f"sum({name})" for name in names)
        answer = Curator(home).query(f"SELECT {sums} FROM study", epsilon=epsilon)  # noqa: S608  # our own names
    return np.array([float(str(cell)) for cell in answer.rows[0]]) / len(rows)


def _genomes(n: int, columns: int) -> list[NDArray[np.float64]]:
    """Members, outsiders, people to practise on and a reference, with ones as frequent as each column says."""
    import numpy as np

    from discreet.noise import belows

    chances = 13 + belows(231, columns)  # of 256: between 5 and 95 %
    draws = [belows(256, n * columns).reshape(n, columns) for _ in range(4)]
    return [np.asarray(drawn < chances, dtype=np.float64) for drawn in draws]


@app.command()
def census(*, epsilon: Price = "1", _home: NoHome = None, form: AsFormat = Format.table) -> None:
    """Rebuild a census block of seven people from its published table."""
    from discreet.cli.census_block import PEOPLE, attempts

    with busy("looking for all blocks that fit"):
        rows = [(*found, len(PEOPLE)) for found in attempts(positive(epsilon, "--epsilon"))]
    print_rows(form, _BLOCKS, rows, _BLOCKS[1:])


@app.command()
def link(
    *,
    n: People = 500,
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """Give rows without names their names back: by a join, by a few ratings, by searches, by where people were."""
    from discreet.cli import search_and_travel
    from discreet.cli.film_viewers import attempts, viewers

    if not 10 <= n <= 4096:
        raise Refusal(f"--n takes a whole number from 10 to 4096, got {n}")
    rows: list[Row] = []
    with busy("linking"):
        found = [*attempts(viewers(n))]
        for published, known, logs in (
            ("search logs", "6 words, to a week", search_and_travel.searches(n)),
            ("travels", "4 places, to an hour", search_and_travel.travels(n)),
        ):
            found.append((published, known, *search_and_travel.attempts(logs)))
        for published, known, people, named in found:
            right = sum(row == person for row, person in zip(named, people, strict=True))
            wrong = sum(row is not None for row in named) - right
            rows.append((published, known, len(people), right / len(people), wrong / len(people)))
    _print(form, rows, _LINKED, 3)


def _solved(method: Method, members: NDArray[np.float64], told: NDArray[np.float64], error: float | None) -> Bits:
    from discreet.attack import exhaustive, least_squares, linear_program

    if method is Method.program:
        return linear_program(members, told, error)
    return (least_squares if method is Method.squares else exhaustive)(members, told)


def _people(n: int) -> Bits:
    """A fair coin for each of so many made-up people."""
    import numpy as np

    from discreet.exact import HALF
    from discreet.noise import SECURE, flips

    if not 2 <= n <= 4096:
        raise Refusal(f"--n takes a whole number from 2 to 4096, got {n}")
    return np.asarray(flips(HALF, n, rng=SECURE), dtype=np.int64)


@contextmanager
def _curator(people: Bits, epsilon: Fraction, tables: Sequence[str]) -> Iterator[Curator]:
    """A curator of the made-up people, once for each table, with the whole budget on each."""
    import pyarrow as pa

    from discreet.curator import Curator
    from discreet.curator.custody import Custody, Declared, found_home

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        found_home(home, practice=True)
        rows = pa.table({"seat": list(range(len(people))), "secret": people.tolist()})
        for table in tables:
            Custody(home).add(table, rows, Declared(unit="row", epsilon=epsilon, bounds={"secret": (0, 1)}))
        yield Curator(home)


def _told(curator: Curator, rest: str, epsilon: Fraction) -> float:
    return float(str(curator.query(f"SELECT sum(secret) {rest}", epsilon=epsilon).rows[0][0]))


def _counts(curator: Curator, chosen: Sequence[Subset], epsilon: Fraction) -> Iterator[float]:
    """The sum over each subset, many in one question: the price of each is the same share of the budget."""
    for start in range(0, len(chosen), _AT_ONCE):
        part = chosen[start : start + _AT_ONCE]
        sums = (f"sum(secret) FILTER (WHERE {subset.condition('seat')}) AS q{k}" for k, subset in enumerate(part))
        price = epsilon * len(part) / len(chosen)
        answer = curator.query(f"SELECT {', '.join(sums)} FROM people", epsilon=price)  # noqa: S608  # our own subsets
        yield from (float(str(cell)) for cell in answer.rows[0])


def _row(answers: str, attack: str, questions: int, outcome: Outcome) -> Row:
    ceiling = None if outcome.ceiling is None else nextafter(float(outcome.ceiling), 2)
    return (answers, attack, questions, outcome.right, outcome.of, outcome.share, float(outcome.blind), ceiling)


def _print(form: Format, rows: Sequence[Row], head: Sequence[str] = _HEAD, shares: int = 5) -> None:
    """Shares, from that place of a row on, as they are for programs, in per cent for people."""
    if form is Format.table:
        rows = [
            (*row[:shares], *(None if cell is None else f"{100 * float(str(cell)):.1f} %" for cell in row[shares:]))
            for row in rows
        ]
    print_rows(form, head, rows, head[2:])
