"""`python -m fedabm` is the `fedabm` command."""

import sys

from fedabm.cli import main

sys.exit(main())
