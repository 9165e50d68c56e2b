"""Contingency tables: counts of every combination of a few columns, for many choices of columns, published once.

    >>> from discreet.release.marginals import ResidualMarginals
    >>> census = ResidualMarginals(("sex", "age", "job"), (2, 9, 5), (("sex", "age"), ("age", "job")), rho=1)
    >>> counts = {("sex", "age"): [[3] * 9] * 2, ("age", "job"): [[1, 2, 0, 1, 2]] * 9}
    >>> tables = census(counts)
    >>> tables.table(("age",)).shape, tables.table(("job", "age")).shape
    ((9,), (5, 9))

`ResidualMarginals` adds Gaussian noise and has the least total variance of linear Gaussian mechanisms;
`FourierMarginals` is purely ε-private, and so is `WeightedMarginals`, which is for small domains and has no error bars.
What they release, `Marginals`, answers every sub-table, and its tables agree exactly on the columns they share.
"""

from discreet.release.marginals.multiplicative_weights import WeightedMarginals as WeightedMarginals
from discreet.release.marginals.released import Marginals as Marginals
from discreet.release.marginals.residual_and_fourier import FourierMarginals as FourierMarginals
from discreet.release.marginals.residual_and_fourier import ResidualMarginals as ResidualMarginals
