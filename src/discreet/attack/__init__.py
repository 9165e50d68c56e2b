"""What an adversary does with what was released.

An attack sees answers, and what everybody knows: never a row. It takes a function that asks, or the answers
themselves, and returns its guess; `Outcome` says how much of the guess was right, what a guesser without answers gets,
and what a promise of privacy lets anybody get at most. `difference` and `everyone_but` take two answers apart,
`averaged` asks again and again, `exhausted` asks until nothing is left; `least_squares`, `linear_program` and
`exhaustive` reconstruct secrets from counts (Dinur & Nissim 2003), and `scale_enough` says how much noise so many
questions need; `homer` and `inner_product` tell members of a study by its means (Homer et al. 2008), and `joined` and
`Scoreboard` give rows without names their names back (Narayanan & Shmatikov 2008). `blocks` rebuilds a census block,
and `nearest` one whose table is off.
"""

from discreet.attack.attack_result import Outcome as Outcome
from discreet.attack.attack_result import scored as scored
from discreet.attack.census import Group as Group
from discreet.attack.census import blocks as blocks
from discreet.attack.census_search import Off as Off
from discreet.attack.census_search import nearest as nearest
from discreet.attack.difference import Average as Average
from discreet.attack.difference import averaged as averaged
from discreet.attack.difference import difference as difference
from discreet.attack.difference import everyone_but as everyone_but
from discreet.attack.difference import exhausted as exhausted
from discreet.attack.difference import partial_sums as partial_sums
from discreet.attack.linkage import Match as Match
from discreet.attack.linkage import Scoreboard as Scoreboard
from discreet.attack.linkage import joined as joined
from discreet.attack.membership import Membership as Membership
from discreet.attack.membership import homer as homer
from discreet.attack.membership import inner_product as inner_product
from discreet.attack.membership import told_apart as told_apart
from discreet.attack.nameable_subsets import Subset as Subset
from discreet.attack.nameable_subsets import matrix as matrix
from discreet.attack.nameable_subsets import subsets as subsets
from discreet.attack.privacy_ceiling import ceiling as ceiling
from discreet.attack.privacy_ceiling import ceiling_of_many as ceiling_of_many
from discreet.attack.privacy_ceiling import questions_borne as questions_borne
from discreet.attack.privacy_ceiling import scale_enough as scale_enough
from discreet.attack.reconstruct import exhaustive as exhaustive
from discreet.attack.reconstruct import least_squares as least_squares
from discreet.attack.reconstruct import linear_program as linear_program
from discreet.attack.reconstruct import predicted as predicted
