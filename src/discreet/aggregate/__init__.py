"""Sums that nobody can look into: people encrypt numbers with a little noise, and whoever adds them up reads the sum.

Nobody is trusted with a single number. The promise is computational: it holds against whoever cannot solve the problem
that each scheme names (docs/proofs/aggregate.md).
"""

from discreet.aggregate.cancelling_keys import agreed as agreed
from discreet.aggregate.cancelling_keys import dealt as dealt
from discreet.aggregate.cancelling_keys import public_key as public_key
from discreet.aggregate.diluted_noise import DilutedGeometric as DilutedGeometric
from discreet.aggregate.durable_aggregator import Station as Station
from discreet.aggregate.durable_aggregator import uploaded as uploaded
from discreet.aggregate.federated import ClippedGrid as ClippedGrid
from discreet.aggregate.federated import LogisticDescent as LogisticDescent
from discreet.aggregate.gaussian_shares import GaussianShares as GaussianShares
from discreet.aggregate.masked_round import Hello as Hello
from discreet.aggregate.masked_round import Member as Member
from discreet.aggregate.masked_round import Shares as Shares
from discreet.aggregate.masked_round import Upload as Upload
from discreet.aggregate.masked_round import added_up as added_up
from discreet.aggregate.masked_sum import MaskedSum as MaskedSum
from discreet.aggregate.rehearsal import rehearsed as rehearsed
from discreet.aggregate.scheme_comparison import Forecast as Forecast
from discreet.aggregate.scheme_comparison import plan as plan
from discreet.aggregate.sent_epochs import Outbox as Outbox
from discreet.aggregate.small_logarithms import Logarithms as Logarithms
from discreet.aggregate.stream_sum import Sender as Sender
from discreet.aggregate.stream_sum import StreamSum as StreamSum
from discreet.aggregate.stream_sum import encrypted as encrypted
from discreet.aggregate.stream_sum import opened as opened
from discreet.aggregate.sum_task import SumTask as SumTask
from discreet.aggregate.tree_of_people import Block as Block
from discreet.aggregate.tree_of_people import TreeMember as TreeMember
from discreet.aggregate.tree_of_people import TreeSum as TreeSum
from discreet.aggregate.tree_of_people import read_tree as read_tree
