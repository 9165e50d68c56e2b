"""Private tests that a page offers: what each needs and assumes, its order and price, and its result in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, isqrt, log10
from typing import Any

from discreet.console.prices import Purse, Tag, above, purse_of
from discreet.curator.named_run import NamedRun, RunAnswer
from discreet.declared.table import Table
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal, about
from discreet.exact import count, positive
from discreet.pictures.svg import plain
from discreet.privacy import Concentrated

_PART = 10  # of the budget, if nobody names a price
_LONGEST = 400  # letters that somebody may write into a field
_PEOPLE = "One row of each person counts, and people were drawn independently of one another. "
_BLOCKS = "Rows are dealt into 40 blocks, and how many speak against it is told, with noise: few people show little."
_SMALL = 0.05


@dataclass(frozen=True)
class PrivateTest:
    """A test, or an interval, that somebody can choose: its words, what it is told, and where it holds."""

    name: str
    mechanism: str
    title: str
    words: str
    needs: tuple[str, ...]
    assumes: str


TESTS = (
    PrivateTest(
        "share",
        "binomial-test",
        "Is a share larger?",
        "Whether more people have a key than somebody says, or fewer.",
        ("keys", "key", "share", "side", "people"),
        _PEOPLE + "How many there are is public, and exactly so many have a declared key or none. Then it is exact.",
    ),
    PrivateTest(
        "table",
        "chi-square-test",
        "Do two columns belong together?",
        "Whether who has one key is likelier to have another: the chi-square test, with the noise in it.",
        ("keys", "others"),
        _PEOPLE + "How often it errs was simulated, with the same noise: it is right as counts grow beyond the noise.",
    ),
    PrivateTest(
        "shares",
        "chi-square-test",
        "Are the shares as said?",
        "Whether all keys of a column have the shares that somebody says.",
        ("keys", "shares"),
        _PEOPLE + "How often it errs was simulated, with the same noise: it is right as counts grow beyond the noise.",
    ),
    PrivateTest(
        "mean",
        "t-test",
        "Is a mean as said?",
        "Student's t-test, in blocks.",
        ("numbers", "mean"),
        f"{_PEOPLE}Numbers are normal; for others it is about right where a block holds many of them. {_BLOCKS}",
    ),
    PrivateTest(
        "means",
        "t-test",
        "Have two groups the same mean?",
        "Welch's t-test, in blocks.",
        ("numbers", "groups"),
        f"{_PEOPLE}Numbers are normal; for others it is about right where a block holds many of them. {_BLOCKS}",
    ),
    PrivateTest(
        "permutation",
        "permutation-test",
        "Are two groups alike?",
        "Whether numbers of two groups differ, whatever their law: a permutation test, in blocks.",
        ("numbers", "groups"),
        f"{_PEOPLE}Nothing is assumed of the numbers. {_BLOCKS}",
    ),
    PrivateTest(
        "population-mean",
        "population-mean",
        "Between what is the mean of everybody?",
        "An interval that includes the sampling and the noise.",
        ("numbers",),
        f"{_PEOPLE}Nothing is assumed of the numbers: those beyond the declared bounds count as the bound.",
    ),
    PrivateTest(
        "population-share",
        "population-share",
        "Between what is a share of everybody?",
        "An interval that includes the sampling and the noise.",
        ("keys", "key"),
        f"{_PEOPLE}It is the share among those with a declared key.",
    ),
)
SIDES = {"greater": "more", "less": "fewer", "two-sided": "more or fewer"}
WORDS = {
    "numbers": "Numbers",
    "groups": "Two groups",
    "keys": "Column",
    "others": "Other column",
    "key": "Key",
    "share": "Share that somebody says, from 0 to 1",
    "shares": "Shares that somebody says, one for each key",
    "side": "Are they",
    "people": "How many people there are, publicly",
    "mean": "Mean that somebody says",
}


def named(name: str) -> PrivateTest:
    """The test of this name."""
    return next(each for each in TESTS if each.name == name)


def columns(table: Table, need: str) -> tuple[str, ...]:
    """The columns of a table that are declared well enough for a need."""
    if need == "numbers":
        return tuple(each.name for each in table.columns if each.grid is not None)
    least, most = (2, 2) if need == "groups" else (2, 10_000)
    return tuple(each.name for each in table.columns if least <= len(each.keys or ()) <= most)


def keys(table: Table, column: str) -> tuple[str, ...]:
    """The declared keys of a column, as they are written."""
    return tuple(str(key).lower() if isinstance(key, bool) else str(key) for key in table.column(column).keys or ())


@dataclass(frozen=True)
class HypothesisDraft:
    """What somebody filled in."""

    test: str = TESTS[0].name
    parts: Mapping[str, str] = field(default_factory=dict, hash=False)
    epsilon: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """What is still to be filled in."""
        return tuple(WORDS[each] for each in named(self.test).needs if not self.parts.get(each))

    def order(self, table: Table, epsilon: Fraction) -> NamedRun:
        """What is run, with the words of `discreet test`. Raises why it cannot be."""
        if any(len(text) > _LONGEST for text in (*self.parts.values(), self.epsilon)):
            raise Refusal(f"nothing longer than {_LONGEST} letters fits here")
        if self.missing:
            raise Refusal(f"fill in: {', '.join(self.missing).lower()}")
        with about("epsilon"):
            price = self.epsilon and positive(self.epsilon, "ε") and self.epsilon
        asked = {**self._parameters(), "epsilon": price or str(epsilon)}
        most = None if table.max_rows == 1 else 1
        return NamedRun.of(named(self.test).mechanism, table.name, asked, most)

    def _parameters(self) -> dict[str, Any]:
        part = self.parts
        if self.test in ("table", "shares"):
            among = [part["keys"], part["others"]] if self.test == "table" else [part["keys"]]
            shares = [each.strip() for each in part["shares"].split(",")] if self.test == "shares" else []
            return {"columns": among, "shares": shares}
        if self.test in ("share", "population-share"):
            own: dict[str, Any] = {"column": part["keys"], "key": part["key"]}
            if self.test == "population-share":
                return {**own, "confidence": "0.95"}
            people = _whole(part["people"])
            return {**own, "share": part["share"], "people": people, "alternative": part["side"], "delta": "0"}
        if self.test == "population-mean":
            return {"column": part["numbers"], "confidence": "0.95"}
        blocks = {"column": part["numbers"], "blocks": 40, "level": "0.2"}
        if self.test == "permutation":
            return {**blocks, "by": part["groups"]}
        return {**blocks, "by": part.get("groups") if self.test == "means" else None, "mean": part.get("mean") or "0"}


def _whole(text: str) -> int:
    typed = text.replace(",", "").strip()
    return count(int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 10 else 0, "people")


@dataclass(frozen=True)
class HypothesisQuote:
    """A test, with what is said before it is paid."""

    order: NamedRun
    tag: Tag
    left_out: str


def quoted(desk: Desk, visitor: Visitor, table: str, draft: HypothesisDraft) -> HypothesisQuote:
    """What a draft would cost. It blocks, reads no row, and raises what the desk raises."""
    known = next((each for each in desk.tables(visitor) if each.name == table and each.population is not None), None)
    if known is None or known.population is None:
        raise Refusal(f"there is no private table {table!r} that you may ask about")
    purse = purse_of(desk, visitor, known.population)
    order = draft.order(known, usual(purse))
    offer = desk.run_quoted(visitor, order)
    due = None if offer.entry is not None else offer.price
    return HypothesisQuote(order, Tag(order.rows, {}, offer.price, due, None, purse, ()), offer.bounding)


def usual(purse: Purse) -> Fraction:
    """An ε that takes about a tenth of a budget: of one in ρ, that of ε²/2."""
    part = purse.total.amount / _PART
    if isinstance(purse.total, Concentrated):
        part = Fraction(isqrt(int(2 * part * 10**12)), 10**6)
    return above(part, 2)


# the result -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """A result in words: the number, what it means, and an interval if there is one."""

    figure: str
    words: str
    p_value: float | None = None
    interval: tuple[float, float, float] | None = None  # from, estimate, to


def found(draft: HypothesisDraft, answer: RunAnswer) -> Finding:
    """What a test came to."""
    value, part = answer.value, draft.parts
    if "p_value" in value:
        p = float(value["p_value"])
        return Finding(p_text(p), _verdict(p, _null(draft)), p)
    low, middle, high = (float(value[each]) for each in ("low", "estimate", "high"))
    of = f"the share with {part['keys']} = {part['key']}" if "key" in named(draft.test).needs else ""
    of = of or f"the mean of {part['numbers']}"
    ends = f"{rounded(low, high - low, up=False)} to {rounded(high, high - low, up=True)}"
    words = f"With 95 % confidence, {of} lies there: of everybody whom these people were drawn from, not of them alone."
    return Finding(ends, words, interval=(low, middle, high))


def p_text(p: float) -> str:
    """A p-value in two digits, rounded up: the smaller, the more it claims."""
    return "p < 0.0001" if p < 1e-4 else f"p = {_up(Fraction(repr(p)))}"


def _up(part: Fraction) -> str:
    """A number in two digits, rounded up."""
    digits = max(0, 1 - floor(log10(part)))
    text = f"{ceil(part * 10**digits) / 10**digits:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def rounded(end: float, width: float, *, up: bool) -> str:
    """An end of an interval, rounded outward to a hundredth of its width."""
    digits = max(0, 2 - floor(log10(width))) if width > 0 else 6
    whole = (ceil if up else floor)(Fraction(repr(end)) * 10**digits)
    return plain(whole / 10**digits)


def _verdict(p: float, null: str) -> str:
    cases = "0.01" if p < 1e-4 else _up(100 * Fraction(repr(p)))
    often = f"in at most {cases} of 100 cases, noise included"
    if p <= _SMALL:
        return f"It is hard to believe that {null}. If it were so, a p-value as small as this would come up {often}."
    return (
        f"Nothing here speaks clearly against it that {null}: if it is so, such a p-value or a smaller one comes up "
        f"{often}. It is no proof of it either, because noise and few people hide much."
    )


def _null(draft: HypothesisDraft) -> str:
    """The null hypothesis, as the end of a sentence."""
    part = draft.parts
    if draft.test == "share":
        how = {"greater": "at most a share of", "less": "at least a share of"}.get(part["side"], "exactly a share of")
        return f"{how} {part['share']} has {part['keys']} = {part['key']}"
    if draft.test == "table":
        return f"{part['keys']} and {part['others']} have nothing to do with each other"
    if draft.test == "shares":
        return f"the keys of {part['keys']} have the shares {part['shares']}"
    if draft.test == "mean":
        return f"the mean of {part['numbers']} is {part['mean']}"
    same = "have the same mean" if draft.test == "means" else "are alike"
    return f"in both groups of {part['groups']} the numbers of {part['numbers']} {same}"
