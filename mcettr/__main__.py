"""Lets ``python -m mcettr`` be the command line."""

import sys

from mcettr.cli import program

if __name__ == "__main__":
    sys.exit(program())
