"""Where rows live and are summed.

An engine holds private rows and gives out exact statistics of them, only to be fed to a mechanism.
"""

from discreet.engines.duckdb import Counted as Counted
from discreet.engines.duckdb import DuckStore as DuckStore
from discreet.engines.duckdb_relation import DuckRelation as DuckRelation
