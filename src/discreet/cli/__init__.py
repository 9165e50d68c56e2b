"""The command line: a module for each subject, opened only when one of its commands is called."""

from discreet.cli.commands import main as main
