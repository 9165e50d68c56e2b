"""Exact noise: integers whose law is proved, from bits nobody can guess.

A name in the singular draws one number by a short readable algorithm, for every rational parameter. Its plural draws a
vector from the same law, tens of millions a second, in a stated range. Randomness is the argument `rng`; production
passes nothing and gets the operating system's. No float enters a law: where one decides a comparison faster, it does so
only outside its proven error, and whole numbers decide the rest (docs/proofs/sampling.md).
"""

from discreet.noise.bernoulli import coins as coins
from discreet.noise.bernoulli import flip as flip
from discreet.noise.bernoulli import flip_exp as flip_exp
from discreet.noise.bernoulli import flips as flips
from discreet.noise.bernoulli import flips_exp as flips_exp
from discreet.noise.discrete_scalar import gaussian as gaussian
from discreet.noise.discrete_scalar import geometric as geometric
from discreet.noise.discrete_scalar import laplace as laplace
from discreet.noise.exact_selection import exponential as exponential
from discreet.noise.exact_selection import permute_and_flip as permute_and_flip
from discreet.noise.poisson import poisson as poisson
from discreet.noise.poisson import poissons as poissons
from discreet.noise.poisson import skellam as skellam
from discreet.noise.poisson import skellams as skellams
from discreet.noise.secure_random import SECURE as SECURE
from discreet.noise.secure_random import Entropy as Entropy
from discreet.noise.secure_random import Secure as Secure
from discreet.noise.secure_random import below as below
from discreet.noise.secure_random import belows as belows
from discreet.noise.secure_random import permutation as permutation
from discreet.noise.vector import gaussians as gaussians
from discreet.noise.vector import geometrics as geometrics
from discreet.noise.vector import laplaces as laplaces
