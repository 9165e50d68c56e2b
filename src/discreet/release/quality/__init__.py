"""Quality of made-up rows: a report that compares them with the records, for whoever may see the records.

It is computed from the records without noise, so it is as secret as they are. It is never part of a release, and
nothing that is published calls it.
"""

from discreet.release.quality.page import BANNER as BANNER
from discreet.release.quality.page import HEADS as HEADS
from discreet.release.quality.page import lines_of as lines_of
from discreet.release.quality.page import page as page
from discreet.release.quality.report import Comparison as Comparison
from discreet.release.quality.report import QualityReport as QualityReport
from discreet.release.quality.report import quality as quality
