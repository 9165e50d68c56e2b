"""Streams: what is counted while it happens, under one promise for all that is ever said."""

from discreet.stream.counter import Counter as Counter
from discreet.stream.gaussian_counters import BufferedCounter as BufferedCounter
from discreet.stream.gaussian_counters import SquareRootCounter as SquareRootCounter
from discreet.stream.pan_private import PanPrivateDensity as PanPrivateDensity
from discreet.stream.pan_private import PanPrivateDistinct as PanPrivateDistinct
from discreet.stream.pan_private_visits import PanPrivateVisits as PanPrivateVisits
from discreet.stream.stream import Stream as Stream
from discreet.stream.tree_counter import TreeCounter as TreeCounter
from discreet.stream.visitors import Visitors as Visitors
