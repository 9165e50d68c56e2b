"""The command line: one module per command, opened only when that command is called."""

from discreet.cli.command import main as main
