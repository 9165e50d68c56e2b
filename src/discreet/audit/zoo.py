"""A zoo of wrong mechanisms, most of them once published or deployed. The audit must refute every one.

They are here to be caught: nothing in this package uses them, and the registry of mechanisms does not know them.
"""

from __future__ import annotations

from discreet.audit.specimen import Specimen
from discreet.audit.zoo_data import DATA
from discreet.audit.zoo_local import LOCAL
from discreet.audit.zoo_noise import NOISE
from discreet.audit.zoo_objects import OBJECTS
from discreet.audit.zoo_rare import RARELY
from discreet.audit.zoo_rows import ROWS
from discreet.audit.zoo_sparse import SPARSE

_ALL = (*SPARSE, *NOISE, *DATA, *LOCAL, *RARELY, *OBJECTS, *ROWS)

ZOO: dict[str, Specimen] = {specimen.name: specimen for specimen in _ALL}
