"""What ``auto`` can pick, and baselines: a folder per family with its CPU and its CUDA form.

``NEARFAR_VARIANTS`` names folders that hold more families, separated as in ``PATH``: each is found
and registered like those that lie here.
"""

from __future__ import annotations

import os

__path__.extend(filter(None, os.environ.get("NEARFAR_VARIANTS", "").split(os.pathsep)))
