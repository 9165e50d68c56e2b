"""A zoo of wrong mechanisms, most of them once published or deployed. The audit must refute every one.

They are here to be caught: nothing in this package uses them, and the registry of mechanisms does not know them.
"""

from __future__ import annotations

from discreet.audit.specimen import Specimen
from discreet.audit.zoo_data import DATA, ROWS
from discreet.audit.zoo_mechanisms import LOCAL, NOISE, SPARSE
from discreet.audit.zoo_outputs import OBJECTS, RARELY

_ALL = (*SPARSE, *NOISE, *DATA, *LOCAL, *RARELY, *OBJECTS, *ROWS)

ZOO: dict[str, Specimen] = {specimen.name: specimen for specimen in _ALL}
