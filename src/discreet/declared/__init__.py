"""Declared facts: what a custodian says about tables, once: types, keys, names, grids, columns, caps and tables."""
