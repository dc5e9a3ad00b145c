"""Read and write rasters: GeoTIFF through rasterio, mapped ``.npy``, grid worlds."""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nearfar.errors import GraphFormatError, MissingDependencyError, OptionError, quoted
from nearfar.formats.compression import split_suffix
from nearfar.formats.files import Source
from nearfar.options import file_name
from nearfar.raster.raster import Raster
from nearfar.raster.surface import Surface
from nearfar.system.output import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Georeference", "read_raster", "write_raster"]

_TIFF = (".tif", ".tiff")
_MAP = ".map"
_OPEN_TERRAIN = b".GS"


class Georeference(NamedTuple):
    """Location of a raster: the affine transform of rasterio and the coordinate system."""

    transform: Any
    crs: Any


def _rasterio() -> Any:
    try:
        import rasterio
    except ImportError:
        raise MissingDependencyError(
            "GeoTIFF needs rasterio: pip install 'nearfar[raster]'"
        ) from None
    return rasterio


def read_array(path: str | os.PathLike[str], band: int = 1) -> tuple[NDArray[Any], Any, Any]:
    """Return (array, no-data value or None, Georeference or None) of a file."""
    name = file_name(path)
    suffix = os.path.splitext(name)[1].lower()
    if suffix == ".npy":
        try:
            return np.load(name, mmap_mode="r", allow_pickle=False), None, None
        except (EOFError, ValueError) as error:
            raise GraphFormatError(f"is not an array: {error}", name) from None
    if _is_map(name):
        return _read_map(name), None, None
    if suffix not in _TIFF:
        raise OptionError(f"{quoted(name)}: rasters are .tif, .npy and .map")
    rasterio = _rasterio()
    if not os.path.exists(name):
        raise FileNotFoundError(2, "No such file or directory", name)
    try:
        with rasterio.open(name) as file:
            array, marked = file.read(band), file.nodatavals[band - 1]
            place = Georeference(file.transform, file.crs)
            scale, shift = file.scales[band - 1], file.offsets[band - 1]
            masked = rasterio.enums.MaskFlags.per_dataset in file.mask_flag_enums[band - 1]
            if masked or (scale, shift) != (1, 0):  # in floats, with NaN for missing data
                known = file.read_masks(band) > 0
                array, marked = np.where(known, array * scale + shift, np.nan), None
    except (rasterio.errors.RasterioError, IndexError) as error:
        raise GraphFormatError(f"cannot be read: {error}", name) from None
    return array, marked, place


def _is_map(name: str) -> bool:
    """Return whether a file is a grid world, compressed or not."""
    return split_suffix(name)[0] == _MAP


@contextlib.contextmanager
def open_band(path: str | os.PathLike[str], band: int) -> Iterator[Any]:
    """Yield a band of a GeoTIFF as an array that is read when it is sliced by rows."""
    rasterio, name = _rasterio(), file_name(path)
    if os.path.splitext(name)[1].lower() not in _TIFF:
        raise OptionError(f"{quoted(name)}: only GeoTIFF files are mapped, by their path")
    try:
        with rasterio.open(name) as file:
            yield _Band(rasterio, file, band)
    except (rasterio.errors.RasterioError, IndexError) as error:
        raise GraphFormatError(f"cannot be read: {error}", name) from None


class _Band:
    """One band of an open GeoTIFF."""

    def __init__(self, rasterio: Any, file: Any, band: int) -> None:
        self._rasterio, self._file, self._band = rasterio, file, band
        self.shape, self.dtype = (file.height, file.width), np.dtype(file.dtypes[band - 1])
        self.chunks = file.block_shapes[band - 1]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        window = self._rasterio.windows.Window(0, rows.start, self.shape[1], rows.stop - rows.start)
        return np.asarray(self._file.read(self._band, window=window))


def _read_map(name: str) -> NDArray[np.float32]:
    """Return a grid world: 1 where the terrain is passable, NaN elsewhere."""
    source = Source(name)
    lines = bytes(source.data).split(b"\n")
    if not lines[0].startswith(b"type") or b"map" not in (line.strip() for line in lines[:4]):
        raise source.fail("not a grid map: its first four lines are type, height, width and map", 1)
    rows = [line.rstrip(b"\r") for line in lines[4:]]
    while rows and not rows[-1]:
        rows.pop()
    width = len(rows[0]) if rows else 0
    height = next((line.split()[1:] for line in lines[:4] if line.startswith(b"height")), [])
    if height != [str(len(rows)).encode()]:
        stated = quoted(b" ".join(height).decode(errors="replace"))
        raise source.fail(f"{len(rows)} rows of cells, but the height is {stated}: cut off?", 2)
    for number, row in enumerate(rows, start=5):
        if len(row) != width:
            raise source.fail(f"{len(row)} cells, expected {width}", number)
    cells = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), width)
    passable = np.isin(cells, np.frombuffer(_OPEN_TERRAIN, dtype=np.uint8))
    return np.where(passable, np.float32(1), np.float32(np.nan))


def read_raster(
    path: str | os.PathLike[str],
    *,
    band: int = 1,
    elevation: str | os.PathLike[str] | None = None,
    **raster: Any,
) -> Raster:
    """Read costs from a file.

    Parameters
    ----------
    path : str or path
        ``.tif`` (GeoTIFF, needs the extra ``raster``), ``.npy``, which is mapped into memory
        instead of read, or ``.map``, a grid world of movingai.com whose passable cells cost 1.
        Their published lengths do not cut corners, so ``cut_corners`` is False by default.
    band : int
        Band of a GeoTIFF, from 1.
    elevation : str, path or None
        A file with the elevation model.
    **raster
        Keywords of :class:`Raster`. ``cell_size`` and ``no_data`` come from a GeoTIFF by default.

    Returns
    -------
    Raster

    Raises
    ------
    GraphFormatError
        If the file cannot be read as its suffix says.
    OptionError
        For another suffix.
    MissingDependencyError
        Without rasterio.

    Notes
    -----
    A file whose coordinate system counts degrees gets a ``UserWarning`` unless ``cell_size`` is
    given: lengths are then in degrees, and a degree of longitude is shorter than one of latitude.
    """
    array, marked, place = read_array(path, band)
    if _is_map(os.fspath(path)) and elevation is None:
        plain = raster.get("connectivity", 8) == 8 and raster.get("step", "mean") == "mean"
        raster.setdefault("cut_corners", not plain)
    if marked is not None and "no_data" not in raster:
        raster["no_data"] = marked
    if place is not None and "cell_size" not in raster:
        if place.crs is not None and place.crs.is_geographic:
            warnings.warn(
                f"{os.fspath(path)}: the coordinate system counts degrees, and so do lengths: give "
                "cell_size, or project the raster",
                stacklevel=2,
            )
        t = place.transform
        raster["cell_size"] = (math.hypot(t.b, t.e), math.hypot(t.a, t.d))
    if elevation is not None:
        heights, missing, _ = read_array(elevation)
        if missing is not None:
            heights = np.where(heights == missing, np.nan, heights)
        raster["elevation"] = heights
    grid = Raster(array, **raster)
    grid.georeference = place
    return grid


def _place_of(raster: Raster, rasterio: Any) -> Georeference | None:
    """Return where a raster lies: as in its GeoTIFF, or by the coordinates of its DataArray."""
    axes, given = raster._axes(), raster.georeference
    if given is not None or axes is None or min(map(len, axes)) < 2 or raster._x_first():
        place: Georeference | None = given
        return place
    y, x = axes
    right, down = x[1] - x[0], y[1] - y[0]
    transform = rasterio.Affine(right, 0, x[0] - right / 2, 0, down, y[0] - down / 2)
    mapping = raster._labels.coords.get("spatial_ref")  # by the CF conventions, as of rioxarray
    return Georeference(transform, None if mapping is None else mapping.attrs.get("crs_wkt"))


def write_raster(
    values: Surface | NDArray[Any],
    path: str | os.PathLike[str],
    *,
    like: Raster | None = None,
) -> None:
    """Write a surface, or an array of a raster's shape, into a file.

    Parameters
    ----------
    values : Surface or array
        Values to write; of a surface the distances, with NaN for unreached cells.
    path : str or path
        Path ending in ``.tif`` or ``.npy``; the file is written atomically.
    like : Raster or None
        Raster with the location of the GeoTIFF, read from one or made of a ``DataArray`` with
        coordinates; by default the surface's own.

    Raises
    ------
    OptionError
        For an unknown suffix, a GeoTIFF of more than two dimensions, or a shape other than that of
        ``like``.
    MissingDependencyError
        Without rasterio.
    """
    name = file_name(path)
    suffix = os.path.splitext(name)[1].lower()
    array = values.as_floats() if isinstance(values, Surface) else np.asarray(values)
    like = values.raster if like is None and isinstance(values, Surface) else like
    if suffix == ".npy":
        with replacing(name) as temporary, open(temporary, "wb") as file:
            np.save(file, array)
        return
    if suffix not in _TIFF:
        raise OptionError(f"{quoted(name)}: a surface is written to .tif or .npy")
    if array.ndim != 2:
        raise OptionError(f"a GeoTIFF has two dimensions, the surface {array.ndim}: use .npy")
    if like is not None and array.shape != like.shape:
        raise OptionError(f"values have shape {array.shape}, their raster {like.shape}")
    narrow = {"bool": np.uint8, "float16": np.float32}.get(array.dtype.name)
    array = array if narrow is None else array.astype(narrow)
    rasterio = _rasterio()
    place = None if like is None else _place_of(like, rasterio)
    profile: dict[str, Any] = {
        "driver": "GTiff",
        "height": array.shape[0],
        "width": array.shape[1],
        "count": 1,
        "dtype": array.dtype.name,
        "compress": "deflate",
        "tiled": array.shape[0] >= 256 and array.shape[1] >= 256,
    }
    if array.dtype.kind == "f":
        profile["nodata"] = float("nan")
    if place is not None:
        profile |= {"transform": place.transform, "crs": place.crs}
    with warnings.catch_warnings():
        # A surface without coordinates is valid.
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        with replacing(name) as temporary, rasterio.open(temporary, "w", **profile) as file:
            file.write(array, 1)
