"""Conversion of text to doubles without std::from_chars: same numbers, same errors."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "nearfar"

PROGRAM = """
#include "formats/text/float_text.hpp"

#include <clocale>
#include <cstdio>
#include <iostream>
#include <string>

int main() {
  std::setlocale(LC_ALL, "");
  for (std::string line; std::getline(std::cin, line);) {
    double value = -1;
    const char* const last = line.data() + line.size();
    const auto [stop, error] = nearfar::text::float_from_chars(line.data(), last, value);
    std::printf("%a %d %d\\n", value, static_cast<int>(stop - line.data()),
                static_cast<int>(error));
  }
}
"""

FIXED = """
0 -0 1 -1 1. .5 . - -. + +1 1e5 1E-5 1e 1e+ 1e- 1e+5x 5e-324 4.9e-324 2e-324 1e-400 -1e-400
1.7976931348623157e308 1.7976931348623159e308 1e309 -1e309 2.2250738585072011e-308 0x10 0x1p3
inf -inf INF infinity Infinity infinit nan NaN -nan nano nanx abc 1,5 1_000 12abc 3.14.15
0.1 123456789012345678901234567890 00012 1e0005 9007199254740993 e5 -e5 --1 1e5.5
"""


def texts() -> list[str]:
    """Return numbers and texts that resemble numbers."""
    random.seed(40)
    drawn = [repr(random.uniform(-1, 1) * 10.0 ** random.randint(-320, 300)) for _ in range(2000)]
    junk = ["".join(random.choices("0123456789.eE+-infa x", k=6)) for _ in range(4000)]
    return [*FIXED.split(), "", " 1", "\t1", "1 ", *drawn, *junk]


def test_the_fallback_reads_what_from_chars_reads(tmp_path: Path) -> None:
    (tmp_path / "read.cpp").write_text(PROGRAM)
    said = []
    for macros in ([], ["-DNEARFAR_WITHOUT_FLOAT_FROM_CHARS"]):
        program = tmp_path / f"read{len(macros)}"
        subprocess.run(
            ["g++", "-std=c++20", f"-I{SOURCE}", *macros, "-o", program, tmp_path / "read.cpp"],
            check=True,
        )
        lines = "\n".join(texts()) + "\n"
        out = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
        said.append(out.stdout.splitlines())
    assert len(said[0]) == len(texts())
    wrong = [text for text, one, two in zip(texts(), *said, strict=True) if one != two]
    assert wrong == []
