"""`python -m fedabm` is the `fedabm` command."""

import sys

from fedabm.cli import main

if __name__ == "__main__":
    sys.exit(main())
