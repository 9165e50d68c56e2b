"""The same two questions asked of other libraries, each in an environment of its own that `make peers` builds.

A module here is one library: `ready(path)` loads what it wants to have in memory, which is not timed, and gives for
each question a function that answers it. All are private for users at ε = 1 (and δ = 1e-8 where keys are selected),
with at most 10 groups of a user and 10 rows of him in each (SmartNoise has one cap alone: 72 rows); costs are clipped
to [0, 3000].
"""
