"""Processes for what strangers write, which end when they take too much memory or time.

A server hands a function and its arguments (`calls`) to one of a few that wait (`process_pool`), and gets its value or
the one sentence that it was too much. Another process, which did nothing but load our code, forks and ends them
(`worker`), so they hold no key, no ledger and no row. The kernel limits them: it gives no more memory, and its clock
ends them. In one's own home there is nobody to fear, and functions are just called (`Direct`).
"""

from discreet.sandbox.call_messages import DIRECT as DIRECT
from discreet.sandbox.call_messages import Direct as Direct
from discreet.sandbox.call_messages import Sandbox as Sandbox
from discreet.sandbox.call_messages import SharedValue as SharedValue
from discreet.sandbox.process_pool import Processes as Processes
from discreet.sandbox.worker_process import Limits as Limits
from discreet.sandbox.worker_process import room as room
