"""Where what strangers write is computed: in processes that end when they take too much memory or time.

A server hands a function and its arguments to one of a few processes that wait (`processes`), and gets its value or the
one sentence that it was too much. Another process, which did nothing but load our code, forks and ends them
(`nursery`), so they hold no key, no ledger and no row. The kernel limits them (`worker`): it gives no more
memory, and its clock ends them. In one's own home there is nobody to fear, and functions are just called (`Direct`).
"""

from discreet.sandbox.messages import SharedValue as SharedValue
from discreet.sandbox.process_pool import DIRECT as DIRECT
from discreet.sandbox.process_pool import Direct as Direct
from discreet.sandbox.process_pool import Processes as Processes
from discreet.sandbox.process_pool import Sandbox as Sandbox
from discreet.sandbox.worker import Limits as Limits
from discreet.sandbox.worker import room as room
