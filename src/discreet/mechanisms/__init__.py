"""Mechanisms: the only parts that touch private data, each with a promise that is proved, and audited in the tests.

A mechanism is a value. Its fields are public facts: how much may be lost, how far one person can move the answer.
Calling it with data gives one noisy answer and costs `.privacy`; `.error(0.95)` says beforehand how far off it may be.

    >>> from discreet.mechanisms import Laplace
    >>> count = Laplace.of(epsilon=0.5)
    >>> count.privacy.epsilon, count.error(0.95)
    (Fraction(1, 2), 6)
    >>> noisy = count(1034)

Numbers get noise (`Laplace`, `Gaussian`, `Geometric`, their vectors, reals on a `Grid`); choices are made by score
(`PermuteAndFlip`, `TopK`); one person can answer alone (`RandomizedResponse`). docs/mechanisms.md says which to take.
Importing this room registers every mechanism under its public name.
"""

from discreet.declared.column import Column as Column
from discreet.declared.grid import Grid as Grid
from discreet.declared.table import Caps as Caps
from discreet.declared.table import Outline as Outline
from discreet.mechanisms.auction import PostedPrice as PostedPrice
from discreet.mechanisms.integer_noise import Gaussian as Gaussian
from discreet.mechanisms.integer_noise import GaussianVector as GaussianVector
from discreet.mechanisms.integer_noise import Geometric as Geometric
from discreet.mechanisms.integer_noise import Laplace as Laplace
from discreet.mechanisms.integer_noise import LaplaceVector as LaplaceVector
from discreet.mechanisms.key_selection import GaussianKeys as GaussianKeys
from discreet.mechanisms.key_selection import LaplaceKeys as LaplaceKeys
from discreet.mechanisms.key_selection import OptimalKeys as OptimalKeys
from discreet.mechanisms.mean_and_variance import Average as Average
from discreet.mechanisms.mean_and_variance import Mean as Mean
from discreet.mechanisms.mean_and_variance import Spread as Spread
from discreet.mechanisms.mean_and_variance import Variance as Variance
from discreet.mechanisms.mechanism import Audited as Audited
from discreet.mechanisms.mechanism import Mechanism as Mechanism
from discreet.mechanisms.mechanism import Pair as Pair
from discreet.mechanisms.mechanism import Takes as Takes
from discreet.mechanisms.median import PureMedian as PureMedian
from discreet.mechanisms.median import PureRank as PureRank
from discreet.mechanisms.median import SmoothMedian as SmoothMedian
from discreet.mechanisms.median import SmoothRank as SmoothRank
from discreet.mechanisms.online_weights import Answered as Answered
from discreet.mechanisms.online_weights import CellCount as CellCount
from discreet.mechanisms.online_weights import OnlineWeights as OnlineWeights
from discreet.mechanisms.online_weights import RefreshedOnlineWeights as RefreshedOnlineWeights
from discreet.mechanisms.private_rows import Axis as Axis
from discreet.mechanisms.private_rows import Bins as Bins
from discreet.mechanisms.private_rows import Relation as Relation
from discreet.mechanisms.private_rows import TableMechanism as TableMechanism
from discreet.mechanisms.propose_test_release import ProposedMedian as ProposedMedian
from discreet.mechanisms.propose_test_release import ProposeTestRelease as ProposeTestRelease
from discreet.mechanisms.propose_test_release import Stability as Stability
from discreet.mechanisms.propose_test_release import median_stability as median_stability
from discreet.mechanisms.quantile import Quantile as Quantile
from discreet.mechanisms.quantile_interval import QuantileEnd as QuantileEnd
from discreet.mechanisms.quantiles import Quantiles as Quantiles
from discreet.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
from discreet.mechanisms.randomized_response import Share as Share
from discreet.mechanisms.rationed_price import RationedPrice as RationedPrice
from discreet.mechanisms.real_noise import GaussianReal as GaussianReal
from discreet.mechanisms.real_noise import LaplaceReal as LaplaceReal
from discreet.mechanisms.registry import REGISTRY as REGISTRY
from discreet.mechanisms.registry import described as described
from discreet.mechanisms.registry import rebuilt as rebuilt
from discreet.mechanisms.registry import registered as registered
from discreet.mechanisms.rows_in_memory import Frame as Frame
from discreet.mechanisms.sample_and_aggregate import Aggregate as Aggregate
from discreet.mechanisms.sample_and_aggregate import BlockMean as BlockMean
from discreet.mechanisms.sample_and_aggregate import SampleAggregate as SampleAggregate
from discreet.mechanisms.selection import Exponential as Exponential
from discreet.mechanisms.selection import PermuteAndFlip as PermuteAndFlip
from discreet.mechanisms.selection import ReportNoisyMax as ReportNoisyMax
from discreet.mechanisms.session import Interactive as Interactive
from discreet.mechanisms.session import Openable as Openable
from discreet.mechanisms.session import Quota as Quota
from discreet.mechanisms.session import Session as Session
from discreet.mechanisms.smooth_noise import LaplaceTails as LaplaceTails
from discreet.mechanisms.smooth_noise import StudentTails as StudentTails
from discreet.mechanisms.smooth_sensitivity import Order as Order
from discreet.mechanisms.sparse import Above as Above
from discreet.mechanisms.sparse import Below as Below
from discreet.mechanisms.sparse import Comparison as Comparison
from discreet.mechanisms.sparse import RefreshedSparseVector as RefreshedSparseVector
from discreet.mechanisms.sparse import SparseVector as SparseVector
from discreet.mechanisms.topk import ConcentratedTopK as ConcentratedTopK
from discreet.mechanisms.topk import TopK as TopK
from discreet.mechanisms.tulap import Tulap as Tulap
