"""Mutations: bytes removed, flipped, doubled and moved; difficult numbers; nested text."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable

__all__ = ["damaged"]

_NUMBERS = b"""0 -1 1 2 255 256 65535 16777216 2147483647 2147483648 4294967296 -2147483649
9223372036854775807 9223372036854775808 -9223372036854775808 99999999999999999999 0.5 -0.0 1e308
1e309 1e-400 nan inf -inf Infinity NaN +1 +-1 0x10 1_0 true null [] {} "" 1.0x""".split()
_NUMBERS += [b"", b"1.0 7", b"1" * 400]
_WORDS = b"""\0 , ; % # " ' \\ p a e - . < > &amp; </osm> source target weight \x1a \xff
\xef\xbb\xbf \xff\xfe \xc3\x28 \xed\xa0\x80 \xe2\x80\xa8""".split()
_WORDS += [b"\n", b"\r", b"\r\n", b" ", b"\t", b"\n" * 3000, b" " * 3000, b"9" * 5000, b"x" * 5000]
_WORDS += [b"[" * 2000, b"{" * 2000, b'{"":' * 2000]
_INTEGERS = [0, 1, -1, 2, 7, 127, 255, 2**15, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**32]
_INTEGERS += [2**40, 2**62, 2**63 - 1, -(2**63), -(2**31)]


def _place(rng: random.Random, data: bytearray) -> int:
    """Return a random position, in half of the cases near the beginning, where headers are."""
    end = len(data) + 1
    return rng.randrange(min(end, 200)) if rng.random() < 0.5 else rng.randrange(end)


def _span(rng: random.Random, data: bytearray) -> slice:
    begin = _place(rng, data)
    return slice(begin, begin + rng.choice([1, 1, 2, 4, 8, rng.randrange(1, 64), len(data)]))


def _cut(rng: random.Random, data: bytearray) -> None:
    del data[_place(rng, data) :]


def _turn(rng: random.Random, data: bytearray) -> None:
    for _ in range(rng.choice([1, 1, 2, 8])):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _overwrite(rng: random.Random, data: bytearray) -> None:
    for _ in range(rng.choice([1, 1, 4, 20])):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)


def _delete(rng: random.Random, data: bytearray) -> None:
    del data[_span(rng, data)]


def _double(rng: random.Random, data: bytearray) -> None:
    piece = data[_span(rng, data)]
    at = _place(rng, data)
    data[at:at] = piece * rng.choice([1, 1, 2, 50])


def _insert(rng: random.Random, data: bytearray) -> None:
    at = _place(rng, data)
    data[at:at] = rng.choice(_WORDS)


def _number(rng: random.Random, data: bytearray) -> None:
    found = list(re.finditer(rb"[-+]?\d[\d.e+-]*", bytes(data[:4000])))
    if found:
        begin, end = rng.choice(found).span()
        data[begin:end] = rng.choice(_NUMBERS)


def _integer(rng: random.Random, data: bytearray) -> None:
    code = rng.choice(["<i", "<q", "<q", ">i", "<h"])
    size = struct.calcsize(code)
    step = rng.choice([1, size])
    at = _place(rng, data) // step * step
    value = rng.choice(_INTEGERS) + rng.choice([0, 0, 1, -1])
    bits = 8 * size
    value = (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    if at + size <= len(data):
        data[at : at + size] = struct.pack(code, value)


def _line(rng: random.Random, data: bytearray) -> None:
    lines = bytes(data).split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    rng.choice([lambda: lines.insert(i, lines[j]), lambda: lines.pop(i)])()
    data[:] = b"\n".join(lines)


_KINDS: list[Callable[[random.Random, bytearray], None]] = [
    *(_cut, _turn, _overwrite, _delete, _double, _insert, _number, _number, _integer, _line),
]


def damaged(rng: random.Random, whole: bytes) -> bytes:
    """Return the bytes after one to four changes.

    Parameters
    ----------
    rng : random.Random
    whole : bytes

    Returns
    -------
    bytes
    """
    data = bytearray(whole)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 4])):
        rng.choice(_KINDS)(rng, data)
    return bytes(data)
