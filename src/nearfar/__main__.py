"""Run the command line, as ``python -m nearfar``."""

import sys

from nearfar.cli.main import main

sys.exit(main())
