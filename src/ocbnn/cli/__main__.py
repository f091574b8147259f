"""`python -m ocbnn.cli` is the command `ocbnn`."""

from ocbnn.cli.app import main

main()
