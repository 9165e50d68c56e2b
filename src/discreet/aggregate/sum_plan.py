"""Plan of a masked sum that people are asked to join: all that its task says, but for who they are."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from functools import lru_cache

from discreet.aggregate.masked_sum import MaskedSum
from discreet.aggregate.sum_task import SumTask
from discreet.errors import Refusal
from discreet.exact import count, positive, probability, shown

MOST = 3_500  # people whose keys a signed task holds
LONGEST = 1 << 15  # numbers of a vector that is sent in one message
_SLOWEST = 7 * 86_400
_END = "2100-01-01T00:00:00Z"


@dataclass(frozen=True)
class SumPlan:
    """What is added up, at which price of one epoch in zCDP, and how many may fail or work with the aggregator.

    `patience` is how many seconds a step waits for everybody; then it goes on without those who did not come.
    """

    question: str
    limit: int
    rho: Fraction
    epochs: int = 1
    failures: Fraction = Fraction(1, 5)
    colluders: Fraction = Fraction(1, 5)
    dimension: int = 0
    patience: int = 60

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive(self.rho, "rho"))
        for name in ("failures", "colluders"):
            object.__setattr__(self, name, probability(getattr(self, name), name))
        for name in ("limit", "epochs", "patience"):
            count(getattr(self, name), name)
        if self.patience > _SLOWEST:
            raise Refusal(f"expected a patience of at most {_SLOWEST} seconds, got {self.patience}")
        if count(self.dimension, "dimension", least=0) > LONGEST:
            raise Refusal(f"expected a vector of at most {LONGEST} numbers, got {self.dimension}")
        if not self.question.strip():
            raise Refusal(f"expected a question, got {shown(self.question)}")
        self.task("0" * 32, 1, tuple(f"{place:064x}" for place in range(100)), "2000-01-01T00:00:00Z", _END)

    def task(self, name: str, version: int, people: tuple[str, ...], opens: str, closes: str) -> SumTask:
        """The task among these people, not signed yet."""
        if not 2 <= len(people) <= MOST:
            raise Refusal(f"expected from 2 to {MOST} people, got {len(people)}", hint="wait until more have joined")
        made = MaskedSum.of(
            "plan", people, self.limit, self.rho,
            failures=self.failures, colluders=self.colluders, epochs=self.epochs, dimension=self.dimension,
        )  # fmt: skip
        numbers: dict[str, object] = {
            "rho": self.rho,
            "minimum": made.minimum,
            "colluders": made.colluders,
            "threshold": made.threshold,
        }
        scheme = "masked"
        if self.dimension:
            numbers, scheme = {**numbers, "dimension": self.dimension}, "vector"
        texts = {each: str(number) for each, number in numbers.items()}
        question = self.question.strip()
        return SumTask(name, version, question, scheme, texts, people, self.limit, self.epochs, opens, closes)

    @property
    def text(self) -> str:
        """As JSON."""
        return json.dumps({each: str(value) for each, value in asdict(self).items()})

    @classmethod
    @lru_cache(maxsize=256)
    def read(cls, text: str) -> SumPlan:
        """The plan in a text that was written here."""
        given = json.loads(text)
        kinds = {"str": str, "int": int, "Fraction": Fraction}
        return cls(**{one.name: kinds[str(one.type)](given[one.name]) for one in fields(cls)})
