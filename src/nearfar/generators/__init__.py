"""Synthetic graphs, with one file per family; equal seeds give equal graphs on every machine.

:func:`generate` makes one by name; ``GENERATORS`` lists names, summaries and parameters for the
command line and the documentation. Importing this package registers every family.
"""

from nearfar.generators.catalogue import GENERATORS, Generator, Parameter, generate
from nearfar.generators.cherkassky import spacyc, spgrid, sprand
from nearfar.generators.country_roads import country_roads
from nearfar.generators.delaunay import delaunay
from nearfar.generators.grid import grid
from nearfar.generators.kronecker import kronecker
from nearfar.generators.martin import martin, martin_matrix
from nearfar.generators.preferential_attachment import preferential_attachment
from nearfar.generators.road_like import road_like
from nearfar.generators.section43 import section43
from nearfar.generators.small import complete, path, star
from nearfar.generators.small_world import small_world
from nearfar.generators.uniform_random import uniform_random

__all__ = [
    "GENERATORS",
    "Generator",
    "Parameter",
    "complete",
    "country_roads",
    "delaunay",
    "generate",
    "grid",
    "kronecker",
    "martin",
    "martin_matrix",
    "path",
    "preferential_attachment",
    "road_like",
    "section43",
    "small_world",
    "spacyc",
    "spgrid",
    "sprand",
    "star",
    "uniform_random",
]
