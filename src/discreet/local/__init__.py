"""Local: nobody is trusted with the raw value.

A client randomizes a person's answer before anything leaves; a server adds up reports and estimates.

    >>> from discreet.local import OptimizedUnary
    >>> survey = OptimizedUnary(1, 3)  # ε = 1, three possible answers
    >>> reports = survey.batch([0, 1, 1, 2] * 500)
    >>> tally = survey.tally(reports)
    >>> guess = survey.estimate(tally)
    >>> len(guess.counts), tally.people
    (3, 2000)
"""

from discreet.local.frequencies import Frequencies as Frequencies
from discreet.local.frequencies import Odds as Odds
from discreet.local.frequency_oracle import Oracle as Oracle
from discreet.local.frequency_oracle import Response as Response
from discreet.local.frequency_oracle import classroom as classroom
from discreet.local.hadamard import Hadamard as Hadamard
from discreet.local.hashing import Hashed as Hashed
from discreet.local.hashing import LocalHashing as LocalHashing
from discreet.local.heavy_hitters import HeavyHitters as HeavyHitters
from discreet.local.local_mechanism import Reporter as Reporter
from discreet.local.local_mechanism import Tally as Tally
from discreet.local.mean import DuchiMean as DuchiMean
from discreet.local.mean import MeanEstimate as MeanEstimate
from discreet.local.mean import MeanReporter as MeanReporter
from discreet.local.piecewise import HybridMean as HybridMean
from discreet.local.piecewise import PiecewiseMean as PiecewiseMean
from discreet.local.rappor import Device as Device
from discreet.local.rappor import Rappor as Rappor
from discreet.local.rappor_decoder import decode as decode
from discreet.local.sketch import CountMeanSketch as CountMeanSketch
from discreet.local.sketch import HadamardSketch as HadamardSketch
from discreet.local.unary import OptimizedUnary as OptimizedUnary
from discreet.local.unary import SubsetSelection as SubsetSelection
from discreet.local.unary import SymmetricUnary as SymmetricUnary
from discreet.local.unary import Unary as Unary
from discreet.local.vector_mean import VectorMean as VectorMean
from discreet.mechanisms.registry import REGISTRY
from discreet.mechanisms.registry import described as described
from discreet.mechanisms.registry import rebuilt as rebuilt

CLIENTS = {name: kind for name, kind in REGISTRY.items() if issubclass(kind, Reporter)}  # the registered of this room
