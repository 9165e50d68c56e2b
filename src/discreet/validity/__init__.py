"""Differential privacy against false discovery.

An analysis that tells little about each row cannot fit itself to the rows: what it finds on a sample is true of the
population that the sample was drawn from, up to a stated error, however the questions were chosen. `in_expectation`,
`after_selection` and `transferred` are the theorems, `adaptive_error` plans with them, and `splitting` is what they
have to beat: a fresh part of the sample for each question. `ReusableHoldout` judges many models on the same rows,
`Thresholdout` and `Ladder` are the sessions behind it, and `claims` says what their answers prove of the population.
`BinomialTest`, `ChiSquareTest`, `TTest` and `PermutationTest` are private tests of one purchase, and `PopulationMean`
and `PopulationShare` intervals that include the sampling.
"""

from discreet.validity.adaptive_counts import AdaptiveCounts as AdaptiveCounts
from discreet.validity.adaptive_counts import PopulationCount as PopulationCount
from discreet.validity.binomial import BinomialTest as BinomialTest
from discreet.validity.block_tests import PermutationTest as PermutationTest
from discreet.validity.block_tests import TTest as TTest
from discreet.validity.chi_square import ChiSquareTest as ChiSquareTest
from discreet.validity.claims import Claim as Claim
from discreet.validity.claims import claims as claims
from discreet.validity.generalisation import Accuracy as Accuracy
from discreet.validity.generalisation import Slack as Slack
from discreet.validity.generalisation import after_selection as after_selection
from discreet.validity.generalisation import asked_beforehand as asked_beforehand
from discreet.validity.generalisation import hoeffding as hoeffding
from discreet.validity.generalisation import in_expectation as in_expectation
from discreet.validity.generalisation import largest_p_value as largest_p_value
from discreet.validity.generalisation import max_information as max_information
from discreet.validity.generalisation import on_the_sample as on_the_sample
from discreet.validity.generalisation import splitting as splitting
from discreet.validity.generalisation import transferred as transferred
from discreet.validity.holdout import ReusableHoldout as ReusableHoldout
from discreet.validity.planning import Plan as Plan
from discreet.validity.planning import adaptive_error as adaptive_error
from discreet.validity.planning import published_error as published_error
from discreet.validity.planning import stated_error as stated_error
from discreet.validity.population import PopulationInterval as PopulationInterval
from discreet.validity.population import PopulationMean as PopulationMean
from discreet.validity.population import PopulationShare as PopulationShare
from discreet.validity.private_tests import TestResult as TestResult
from discreet.validity.thresholdout import Guessed as Guessed
from discreet.validity.thresholdout import Ladder as Ladder
from discreet.validity.thresholdout import Thresholdout as Thresholdout
