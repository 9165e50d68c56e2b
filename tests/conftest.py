"""How properties are searched: the same way every time in `make test`, anew each time in `make test-all`."""

from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("house")
