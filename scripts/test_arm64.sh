#!/bin/bash
# Build for aarch64 Linux with a cross compiler and run the core tests in an emulator: make test-arm64.
#
# Wants Debian or a relative of it (apt, its arm64 packages) and the Python that this release has.
# What the machine lacks is installed by apt: the cross compiler, qemu-user, nothing else. Python for
# arm64 and its libraries are unpacked below build/arm64, nothing of them reaches the system.
#
#   HOST_PYTHON   has nanobind, CMake and Ninja already
#   TESTS         what pytest is given instead of tests/core.txt
#   STRESS        rounds of solves on busy cores, without Python
#   OPTIMIZE=-O1  compiles in half of the time of -O3, as it is shipped
#   JOBS          compilers at a time
set -euo pipefail
cd "$(dirname "$0")/.."
WORK=$PWD/build/arm64
ROOT=$WORK/root
SITE=$WORK/site
JOBS=${JOBS:-2}
OPTIMIZE=${OPTIMIZE:--O3}
# Solves by many threads on busy cores, 27 a round.
STRESS=${STRESS:-120}
mkdir -p "$WORK"

if ! { command -v aarch64-linux-gnu-g++ && command -v qemu-aarch64; } >/dev/null; then
  as_root=$([ "$(id -u)" = 0 ] || echo sudo)
  $as_root apt-get update -q
  DEBIAN_FRONTEND=noninteractive $as_root apt-get install -qy --no-install-recommends \
    g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
fi

# Python and the libraries it needs, found by an apt that knows of arm64 alone.
if [ ! -e "$ROOT/complete" ]; then
  apt=$WORK/apt
  rm -rf "$ROOT" "$apt"
  mkdir -p "$ROOT" "$apt"/{state/lists/partial,cache/archives/partial}
  : >"$apt/status"
  options=(-q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$apt/state"
           -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=
           -o Dir::State::extended_states="$apt/extended" -o Debug::NoLocking=true)
  # Sources of others may have no arm64: only what is found has to be enough.
  apt-get "${options[@]}" update || true
  apt-get "${options[@]}" install --yes --download-only --no-install-recommends \
    python3 libpython3-dev libstdc++6
  for package in "$apt"/cache/archives/*.deb; do dpkg-deb --extract "$package" "$ROOT"; done
  touch "$ROOT/complete"
fi
python=$(basename "$(readlink "$ROOT/usr/bin/python3")")  # python3.11
version=${python#python}
tag=${version/./}

# A Python of this machine of the same version, with what builds the module.
HOST_PYTHON=${HOST_PYTHON:-$WORK/tools/bin/python}
if [ ! -x "$HOST_PYTHON" ]; then
  "$python" -m venv "$WORK/tools"
  "$HOST_PYTHON" -m pip install --quiet --disable-pip-version-check \
    "nanobind>=2.4" "cmake>=3.24" ninja
fi

# Wheels of aarch64. The tests' own requirements are pure Python.
if [ ! -e "$SITE/complete" ]; then
  rm -rf "$SITE"
  "$HOST_PYTHON" -m pip install --quiet --disable-pip-version-check --target "$SITE" \
    --only-binary=:all: --implementation cp --python-version "$version" \
    --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 \
    --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 --platform any \
    numpy scipy pytest pytest-timeout hypothesis networkx
  touch "$SITE/complete"
fi

cat >"$WORK/toolchain.cmake" <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# pyconfig.h of Debian's Python is found through the folder above
set(CMAKE_CXX_FLAGS_INIT "-idirafter $ROOT/usr/include")
END
nanobind=$("$HOST_PYTHON" -m nanobind --cmake_dir)
PATH=$(dirname "$HOST_PYTHON"):$PATH
cmake -S . -B "$WORK/module" -G Ninja --toolchain "$WORK/toolchain.cmake" \
  -D CMAKE_BUILD_TYPE=Release -D NEARFAR_OPTIMIZE="$OPTIMIZE" \
  -D nanobind_ROOT="$nanobind" -D NB_SUFFIX=".cpython-$tag-aarch64-linux-gnu.so" \
  -D Python_EXECUTABLE="$HOST_PYTHON" -D Python_INCLUDE_DIR="$ROOT/usr/include/$python" >/dev/null
cmake --build "$WORK/module" --parallel "$JOBS"

# The package is the sources and this module; the emulator starts Python again for tests that do.
PACKAGE=$WORK/package
mkdir -p "$PACKAGE"
for name in nearfar _nx_nearfar; do
  rm -rf "${PACKAGE:?}/$name"
  cp -r "src/$name" "$PACKAGE/$name"
done
find "$PACKAGE" -name '_cpu*.so' -delete
cp "$WORK/module"/_cpu*.so "$PACKAGE/nearfar/"
cat >"$WORK/python" <<END
#!/bin/sh
export PYTHONPATH="$WORK/start:$PACKAGE:$SITE\${PYTHONPATH:+:\$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1
exec qemu-aarch64 -L "$ROOT" "$ROOT/usr/bin/$python" "\$@"
END
chmod +x "$WORK/python"
mkdir -p "$WORK/start"
echo "import sys; sys.executable = '$WORK/python'" >"$WORK/start/sitecustomize.py"

aarch64-linux-gnu-g++ -std=c++20 -O2 -pthread -w -static -Isrc/nearfar -o "$WORK/stress" \
  tests/stress/parallel_searches.cpp src/nearfar/cpu/{threads/spread,threads/worker_pool,threads/waiting,memory/buffer}.cpp
qemu-aarch64 "$WORK/stress" 1 "$STRESS"
"$WORK/python" -c "import platform, nearfar._cpu as m; print(platform.machine(), m.compiler, m.isa())"
# No NVRTC is installed for arm64, and a limit of memory is one of the emulator's too.
"$WORK/python" -m pytest -q -p no:cacheprovider --timeout=3000 --junitxml="$WORK/tests.xml" \
  -k "not on_the_device and not on_a_device and not takes_memory_for" ${TESTS:-@tests/core.txt}
