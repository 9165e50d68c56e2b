"""Release: publish once, and everyone computes on that for free.

A mechanism here takes counts of cells, on a line or a plane, and gives a `Histogram`: any range, share or quantile
follows from it with a standard error. `Automatic` takes what suits; docs/releases.md says when to take which.

    >>> from discreet.release import Hierarchy
    >>> ages = Hierarchy.of(epsilon=1, cells=1000)
    >>> ages.privacy.epsilon, ages.branching
    (Fraction(1, 1), 32)
"""

from discreet.release.axis import OTHER as OTHER
from discreet.release.axis import KeyAxis as KeyAxis
from discreet.release.axis import NumberAxis as NumberAxis
from discreet.release.counting_mechanism import Publication as Publication
from discreet.release.counting_methods import Identity as Identity
from discreet.release.counting_methods import Uniform as Uniform
from discreet.release.counts_release import CountedRelease as CountedRelease
from discreet.release.estimate import Curve as Curve
from discreet.release.estimate import Estimate as Estimate
from discreet.release.gaussian_tree import GaussianTree as GaussianTree
from discreet.release.grids import AdaptiveGrid as AdaptiveGrid
from discreet.release.grids import QuadTree as QuadTree
from discreet.release.grids import UniformGrid as UniformGrid
from discreet.release.hierarchy_and_wavelet import Hierarchy as Hierarchy
from discreet.release.hierarchy_and_wavelet import Wavelet as Wavelet
from discreet.release.hierarchy_and_wavelet import tuned as tuned
from discreet.release.histogram import Histogram as Histogram
from discreet.release.histogram_kinds import HISTOGRAM as HISTOGRAM
from discreet.release.histogram_kinds import RANGES as RANGES
from discreet.release.histogram_kinds import HistogramRelease as HistogramRelease
from discreet.release.linked_tables import LinkedTables as LinkedTables
from discreet.release.linked_tables import linked as linked
from discreet.release.marginals import FourierMarginals as FourierMarginals
from discreet.release.marginals import Marginals as Marginals
from discreet.release.marginals import ResidualMarginals as ResidualMarginals
from discreet.release.marginals import WeightedMarginals as WeightedMarginals
from discreet.release.marginals_kind import MARGINALS as MARGINALS
from discreet.release.marginals_kind import MarginalsRelease as MarginalsRelease
from discreet.release.multiplicative_weights import MultiplicativeWeights as MultiplicativeWeights
from discreet.release.net_mechanism import ChosenRows as ChosenRows
from discreet.release.net_mechanism import Net as Net
from discreet.release.net_mechanism_kind import NET as NET
from discreet.release.net_mechanism_kind import NetRelease as NetRelease
from discreet.release.partition import Automatic as Automatic
from discreet.release.partition import Partition as Partition
from discreet.release.private_bins import PrivateBins as PrivateBins
from discreet.release.release import Release as Release
from discreet.release.release_kind import Kind as Kind
from discreet.release.release_kind import Wish as Wish
from discreet.release.release_kind import kinds as kinds
from discreet.release.release_kind import publication as publication
from discreet.release.release_kind import register as register
from discreet.release.synthetic import CliqueTreeSynthesis as CliqueTreeSynthesis
from discreet.release.synthetic import DirectSynthesis as DirectSynthesis
from discreet.release.synthetic import IndependentSynthesis as IndependentSynthesis
from discreet.release.synthetic import SpanningTreeSynthesis as SpanningTreeSynthesis
from discreet.release.synthetic import Synthesis as Synthesis
from discreet.release.synthetic_kind import SYNTHETIC as SYNTHETIC
from discreet.release.synthetic_release import SyntheticRelease as SyntheticRelease
