"""One folder per family: the idea, its pseudo-code, the CPU and the CUDA form as neighbours.

``NEARFAR_VARIANTS`` names folders that hold more families, separated as in ``PATH``: each is found
and registered like those that lie here.
"""

from __future__ import annotations

import os

__path__.extend(filter(None, os.environ.get("NEARFAR_VARIANTS", "").split(os.pathsep)))
