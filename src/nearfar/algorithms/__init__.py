"""Methods that ``auto`` can choose and baselines, in one folder per family (CPU and CUDA variants).

The environment variable ``NEARFAR_VARIANTS`` lists further folders of families, separated as in
``PATH``; they are registered like those of this folder.
"""

from __future__ import annotations

import os

__path__.extend(filter(None, os.environ.get("NEARFAR_VARIANTS", "").split(os.pathsep)))
