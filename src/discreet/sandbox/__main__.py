"""`python -m discreet.sandbox`: the nursery of a server's processes. Nobody but a server starts it."""

from discreet.sandbox.worker_process import main

main()
