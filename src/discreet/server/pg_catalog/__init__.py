"""Catalogue that clients of Postgres look into, made of what is public about tables.

It is a database of its own that never sees a private row: names, types, units, bounds, keys and descriptions, and
constants in the place of everything that Postgres would count.
"""

from discreet.server.pg_catalog.catalogue import PostgresCatalogue as PostgresCatalogue
