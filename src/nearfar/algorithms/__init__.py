"""Methods of ``auto`` and baselines, with a folder per family for its CPU and CUDA forms.

``NEARFAR_VARIANTS`` names folders that hold more families, separated as in ``PATH``: they are
found and registered like those of this folder.
"""

from __future__ import annotations

import os

__path__.extend(filter(None, os.environ.get("NEARFAR_VARIANTS", "").split(os.pathsep)))
