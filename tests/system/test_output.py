"""Outputs appear complete or not at all, and only regular files are replaced."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
from pathlib import Path

import numpy as np
import pytest

from nearfar import Graph
from nearfar.cli.main import main
from nearfar.errors import GraphFormatError, OptionError
from nearfar.formats import read, write
from nearfar.formats.files import Sink
from nearfar.system.output import only_writer, replacing


@pytest.fixture
def graph() -> Graph:
    return Graph.from_edges([0, 1], [1, 2], np.array([3, 4], dtype=np.int32))


def test_a_pipe_is_written_to_and_stays(graph: Graph, tmp_path: Path) -> None:
    """Renaming would replace /dev/null, as root in a container can."""
    pipe = tmp_path / "pipe.gr"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write(graph, pipe)
    reader.join(timeout=20)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert got == ["p sp 3 2\na 1 2 3\na 2 3 4\n"]
    assert [p.name for p in tmp_path.iterdir()] == ["pipe.gr"]


def test_a_full_device_is_an_error_and_stays(graph: Graph, tmp_path: Path) -> None:
    if not Path("/dev/full").is_char_device():
        pytest.skip("no /dev/full on this system")
    name = tmp_path / "full.gr"
    name.symlink_to("/dev/full")
    with pytest.raises(GraphFormatError, match="cannot be written: No space left"):
        write(graph, name)
    for command in (
        ["convert", "IN", str(name)],
        ["sweep", "IN", "0", "-o", str(name)],
        ["sssp", "IN", "0", "--method", "near_far", "--profile", str(name)],
    ):
        source = tmp_path / "g.gr"
        write(graph, source)
        given = [str(source) if word == "IN" else word for word in command]
        assert main(given) == 3, command
    assert Path("/dev/full").is_char_device()


def test_a_link_stays_and_its_file_is_replaced(graph: Graph, tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / "real.gr").write_text("old")
    link = tmp_path / "link.gr"
    link.symlink_to("there/real.gr")
    write(graph, link)
    assert link.is_symlink()
    assert read(folder / "real.gr").n_edges == 2


def test_permissions_are_handed_on(graph: Graph, tmp_path: Path) -> None:
    file = tmp_path / "g.gr"
    file.write_text("old")
    file.chmod(0o600)
    write(graph, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_long_names_and_two_writers(tmp_path: Path) -> None:
    name = tmp_path / ("n" * 250 + ".csv")
    with replacing(name) as one, replacing(name) as two:
        one.write_text("one")
        two.write_text("two")
        assert one != two
        assert one.suffix == ".csv"
    assert name.read_text() == "one"
    assert list(tmp_path.iterdir()) == [name]


@pytest.mark.parametrize("named", [True, False])
def test_errors_name_the_file_that_was_asked_for(named: bool, tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=tmp_path.name), replacing(tmp_path):
        pass
    missing = tmp_path / "no" / "x.csv"
    with pytest.raises(FileNotFoundError) as caught, replacing(missing) as place:
        place.write_text("x")
    assert caught.value.filename == str(missing)
    full = tmp_path / "full.csv"

    def half_way() -> None:
        with replacing(full) as place:
            place.write_text("half")
            raise OSError(errno.ENOSPC, "no space left", *[str(place)] * named)

    with pytest.raises(OSError, match="space") as refused:
        half_way()
    assert refused.value.filename == str(full)
    assert list(tmp_path.iterdir()) == []


def test_both_matrices_appear_whole(graph: Graph, tmp_path: Path, monkeypatch) -> None:
    """A failed write leaves the old matrix; two outputs need two names."""
    file, before = tmp_path / "g.gr", tmp_path / "before.npy"
    write(graph, file)
    before.write_text("old")
    call = ["distances", str(file), "--threads", "1", "--predecessors-output", str(before)]
    assert main([*call, "-o", str(before)]) == 2

    def fails(place: object, matrix: object) -> None:
        place.write(b"half")  # type: ignore[attr-defined]
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(np, "save", fails)
        assert main(call) == 3
    assert before.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["before.npy", "g.gr"]
    assert main(call) == 0
    assert np.load(before).shape == (3, 3)


def test_a_sink_hands_over_small_slices() -> None:
    """Python handles Ctrl-C only between calls, and xz takes seconds for a megabyte or two."""
    taken: list[bytes] = []

    class Slow:
        def write(self, data: memoryview) -> None:
            taken.append(bytes(data))

    whole = np.arange(1 << 18, dtype=np.int32).tobytes()
    Sink("x.gr.xz", Slow(), None).write(whole)  # type: ignore[arg-type]
    assert b"".join(taken) == whole
    assert max(map(len, taken)) <= 1 << 18


def test_never_two_writers(tmp_path: Path) -> None:
    """A lock's file is removed with its writer, and the next may open the removed file."""
    inside: list[int] = []
    most: list[int] = []

    def work(me: int) -> None:
        for _ in range(300):
            try:
                with only_writer(tmp_path / "rows.npy"):
                    inside.append(me)
                    most.append(len(inside))
                    inside.remove(me)
            except OptionError:
                pass

    threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with only_writer(tmp_path / "rows.npy"), only_writer(tmp_path / "rows.npy"):
        pass
    monkeypatch.undo()
    missing = tmp_path / "none" / "rows.npy"
    with pytest.raises(FileNotFoundError) as caught, only_writer(missing):
        pass
    assert caught.value.filename == str(missing)


def test_a_sole_writer_replaces_what_a_killed_one_left(tmp_path: Path) -> None:
    left = tmp_path / ".tmp.rows.json"
    left.write_text("half")
    with replacing(tmp_path / "rows.json", sole=True) as place:
        assert place == left
        place.write_text("whole")
    assert [p.name for p in tmp_path.iterdir()] == ["rows.json"]
