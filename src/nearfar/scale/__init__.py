"""Distances from many sources on several machines, through Dask.

The client measures the speed of the workers, divides the sources into blocks of a few seconds of
work, and sends them to the workers of a Dask cluster. Each worker has one copy of the graph.
Workers write rows to a Zarr folder that all machines share, in the format of a run on one machine;
reductions are returned to the client. The function is :func:`distances`, and the command is
``nearfar distances --cluster``.
"""

from nearfar.scale.cluster import connect
from nearfar.scale.rows import distances

__all__ = ["connect", "distances"]
