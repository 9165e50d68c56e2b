"""What every library is asked to keep to."""

EPSILON, DELTA = 1.0, 1e-8
GROUPS, ROWS, ROWS_IN_ALL = 10, 10, 72
CLIP = 3000.0
KEYS = {"region": [f"R{i:02d}" for i in range(50)]}
