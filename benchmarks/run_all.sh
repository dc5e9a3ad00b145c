#!/bin/sh
# The benchmarks of the README and of the front doors, one after the other, into results/.
# Give a quiet machine about half an hour. PYTHON names the interpreter, default .venv/bin/python.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
out=benchmarks/results
"$python" -m nearfar.cli.main bench peers --threads 1 2 --rounds 7 -o "$out"
"$python" benchmarks/choose_quality.py --threads 1 2 -o "$out/choose_quality.json"
"$python" benchmarks/overheads.py -o "$out/overheads.json"
"$python" benchmarks/front_doors.py -o "$out/front_doors.json"
"$python" benchmarks/soak.py --seconds 600 --processes 2 -o "$out/soak.json"
