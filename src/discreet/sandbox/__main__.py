"""`python -m discreet.sandbox`: the nursery of a server's processes. Nobody but a server starts it."""

from discreet.sandbox.fork_server import main

main()
