"""A trusted curator answers questions as they come.

It holds the rows, an analyst holds none. A question is planned and priced from what is public, its price is written
into the ledger, only then are rows read; the noisy answer is recorded before it leaves, and asking the same again is
free.
"""

from discreet.curator.answer import Answer as Answer
from discreet.curator.curator import Curator as Curator
from discreet.curator.explain import Due as Due
from discreet.curator.explain import Explanation as Explanation
from discreet.curator.quote import Terms as Terms
