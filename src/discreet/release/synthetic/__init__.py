"""Synthetic data: rows that nobody is, drawn from a model that was fitted to noisy tables.

    >>> from discreet.release.synthetic import Records, SpanningTreeSynthesis
    >>> census = SpanningTreeSynthesis(("sex", "job"), (2, 3), rho=1)
    >>> census.privacy.rho
    Fraction(1, 1)
    >>> told = census(Records(("sex", "job"), (2, 3), ((0, 1), (1, 2)) * 500))
    >>> told.rows.shape[1], told.table(("job", "sex")).shape
    (2, (3, 2))

`SpanningTreeSynthesis` knows pairs of columns, `CliqueTreeSynthesis` pairs and triples in larger groups,
`IndependentSynthesis` columns alone, and `DirectSynthesis` everything, where that is little.
"""

from discreet.release.synthetic.coded_records import Records as Records
from discreet.release.synthetic.mechanisms import CliqueTreeSynthesis as CliqueTreeSynthesis
from discreet.release.synthetic.mechanisms import DirectSynthesis as DirectSynthesis
from discreet.release.synthetic.mechanisms import IndependentSynthesis as IndependentSynthesis
from discreet.release.synthetic.mechanisms import SpanningTreeSynthesis as SpanningTreeSynthesis
from discreet.release.synthetic.synthesis_result import Synthesis as Synthesis
