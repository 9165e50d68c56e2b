"""What became of reports: counts that are public, and refusals that say nothing else."""

from __future__ import annotations

from dataclasses import dataclass, fields

from discreet.errors import Refusal
from discreet.local.task import Task

# What is counted and not answered in numbers: uploads that were too long to be read, and reports of strangers.
OVERSIZE, UNINVITED = "oversize", "uninvited"


class Uninvited(Refusal):
    """A task for people who were invited, and no token of theirs."""


class Unknown(Refusal):
    """A task that there is not, or that has no results yet."""


@dataclass(frozen=True)
class Receipt:
    """What became of the reports of one upload. `malformed` counts an upload that cannot be read as one.

    `unlikely` are reports that honest dice never show: fewer than one in 2^39 of theirs.
    """

    accepted: int = 0
    replayed: int = 0
    early: int = 0
    late: int = 0
    malformed: int = 0
    wrong_task: int = 0
    over_limit: int = 0
    full: int = 0
    unlikely: int = 0

    @property
    def told(self) -> dict[str, int]:
        """As JSON."""
        return {part.name: getattr(self, part.name) for part in fields(self)}


KINDS = (*Receipt().told, OVERSIZE, UNINVITED)


@dataclass(frozen=True)
class Standing:
    """Of the newest version of a task: what was accepted and refused so far, and whether it is over."""

    task: Task
    counts: dict[str, int]
    closed: bool
    collected: bool
