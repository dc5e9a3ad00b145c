"""Rows of many sources computed by several machines, through Dask.

A client divides the sources into blocks of some seconds of work, by a speed that it measures
first, and sends them to the workers of a Dask cluster. Each worker has one copy of the graph.
Workers write rows to a Zarr folder that all machines share, in the format of a run on one
machine; reductions return to the client. The function is :func:`distances`, and the command
``nearfar distances --cluster``.
"""

from nearfar.scale.cluster import connect
from nearfar.scale.rows import distances

__all__ = ["connect", "distances"]
