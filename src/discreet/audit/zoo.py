"""A zoo of wrong mechanisms, most of them once published or deployed. The audit must refute every one.

They are here to be caught: nothing in this package uses them, and the registry of mechanisms does not know them.
"""

from __future__ import annotations

from discreet.audit.specimen import Specimen
from discreet.audit.zoo_data import DATA
from discreet.audit.zoo_local import LOCAL
from discreet.audit.zoo_noise import NOISE
from discreet.audit.zoo_sparse import SPARSE

ZOO: dict[str, Specimen] = {specimen.name: specimen for specimen in (*SPARSE, *NOISE, *DATA, *LOCAL)}
