"""Rows of many sources over machines, through Dask.

A client cuts the sources into blocks, as large as some seconds of work by a speed that it measures
first, and hands them to the workers of a Dask cluster. Each worker has the graph once. Rows go from
the workers to a Zarr folder that all machines share, in the form that a run on one machine writes;
reductions go back to the client. :func:`distances` is the call, and
``nearfar distances --cluster`` the command.
"""

from nearfar.scale.cluster import connect
from nearfar.scale.rows import distances

__all__ = ["connect", "distances"]
