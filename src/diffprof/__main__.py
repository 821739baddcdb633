"""``python -m diffprof`` is the command line."""

import sys

from diffprof.cli import main

if __name__ == "__main__":
    sys.exit(main())
