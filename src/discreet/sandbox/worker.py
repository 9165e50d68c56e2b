"""A process that calls functions for others, one after the other, until one of them takes too much."""

from __future__ import annotations

import gc
import os
import pickle
import socket
from collections.abc import Callable

from discreet.errors import DiscreetError
from discreet.sandbox import limits as bounds
from discreet.sandbox.limits import Limits
from discreet.sandbox.messages import Over, receive, said, send
from discreet.sandbox.shared_facts import Facts

MOST = 1 << 40  # bytes of a job: it comes from the server itself
# a function, its arguments, for how many rows; the number of the facts that come first, themselves if they are new, and
# those that are not needed any more
Job = tuple[Callable[..., object], tuple[object, ...], int, int, bytes | None, tuple[int, ...]]

VALUE, SAID, TOO_MUCH, BROKEN = "value", "said", "too much", "broken"
_GENTLE = 5  # less important than the server, for whoever shares out the processor


def work(there: socket.socket, limits: Limits) -> None:
    """Answer calls until nobody is there, or this process has grown."""
    os.nice(_GENTLE)
    gc.freeze()  # what was loaded before the fork stays shared
    facts: dict[int, Facts[object]] = {}
    bounds.made()
    _, first = bounds.held()
    while True:
        try:
            job: Job = pickle.loads(receive(there, MOST))  # noqa: S301  # the server is whom we work for
        except (Over, OSError):
            return
        ended, value = _called(job, facts, limits)
        grown = bounds.held()[1] - first > limits.kept + bounds.loaded()
        last = grown or ended == TOO_MUCH
        send(there, pickle.dumps((ended, value, last), pickle.HIGHEST_PROTOCOL))
        if last:
            return


def _called(job: Job, facts: dict[int, Facts[object]], limits: Limits) -> tuple[str, object]:
    """The value of one call as bytes, or what went wrong."""
    function, given, rows, number, written, dropped = job
    limits = limits.beside(rows)
    for old in dropped:
        facts.pop(old, None)
    if written is not None:
        facts[number] = Facts(pickle.loads(written), number)  # noqa: S301
    bounds.start(limits)
    try:
        found = function(facts[number], *given) if number else function(*given)
        body = pickle.dumps(found, pickle.HIGHEST_PROTOCOL)
    except DiscreetError as error:
        return SAID, said(error)
    except (MemoryError, RecursionError):
        return TOO_MUCH, None
    except Exception as broken:  # noqa: BLE001  # its text could hold anything
        return BROKEN, type(broken).__name__
    finally:
        bounds.stop()
    return (VALUE, body) if len(body) <= limits.reply else (TOO_MUCH, None)
