#!/bin/bash
# Build, record the GPU suite and run the near-far benchmark on this machine's GPU.
#   scripts/gpu_suite.sh OUT [tests|bench|all]
# Writes OUT/validation.json, OUT/near_far.json and logs. Needs python3 with CuPy, scikit-build-core, nanobind,
# CMake, ninja, pytest, pytest-timeout, pytest-xdist and hypothesis. Each stage has its own time limit.
set -u
cd "$(dirname "$0")/.."
OUT=${1:?folder for results}
WHAT=${2:-all}
mkdir -p "$OUT"
SITE=${NEARFAR_SITE:-/tmp/nearfar-site}
GRAPHS=${NEARFAR_GRAPHS:-/tmp/nearfar-graphs}
export CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) PYTHONUNBUFFERED=1 PYTHONPATH=$SITE:$PWD
export NEARFAR_CACHE=${NEARFAR_CACHE:-/tmp/nearfar-cache}
begun=$SECONDS
if [ ! -d "$SITE/nearfar" ]; then
  timeout 300 python3 -m pip install -q --no-build-isolation --no-deps --no-cache-dir \
    --target "$SITE" . >"$OUT/build.log" 2>&1 || { tail -30 "$OUT/build.log"; exit 1; }
fi
echo "built after $((SECONDS - begun)) s"
if [ "$WHAT" != tests ]; then
  timeout 280 python3 benchmarks/graphs_on_disk.py "$GRAPHS" \
    random-200 martin-11 kronecker-22 grid-1000 >"$OUT/graphs.log" 2>&1 &
fi
if [ "$WHAT" != bench ]; then
  timeout 540 python3 -m tests.gpu.record -o "$OUT/validation.json" --limit 300 >"$OUT/tests.log" 2>&1
  tail -40 "$OUT/tests.log"
  echo "tests done after $((SECONDS - begun)) s"
fi
wait
if [ "$WHAT" != tests ]; then
  timeout 280 python3 benchmarks/near_far.py --folder "$GRAPHS" --budget 12 -o "$OUT/near_far.json" \
    2>&1 | tee "$OUT/near_far.log"
  echo "benchmark done after $((SECONDS - begun)) s"
fi
