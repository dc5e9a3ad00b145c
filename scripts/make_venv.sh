#!/bin/sh
# Makes a virtual environment with pip, or says what is missing: make_venv.sh PYTHON FOLDER
set -eu
python=$1
folder=$2

if ! command -v "$python" > /dev/null; then
  echo "nearfar: $python is not installed: apt install python3-dev python3-venv" >&2
  exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "nearfar: $python is $("$python" --version): 3.11 or newer is needed;" \
    "name another with make PYTHON=python3.12" >&2
  exit 1
fi
if ! command -v "${CXX:-c++}" > /dev/null && ! command -v g++ > /dev/null; then
  echo "nearfar: there is no C++ compiler: apt install g++" >&2
  exit 1
fi
if ! "$python" -c 'import sysconfig, os, sys
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))'; then
  echo "nearfar: the headers of $python are missing: apt install python3-dev" >&2
  exit 1
fi
if [ -x "$folder/bin/pip" ]; then
  exit 0
fi
echo "making $folder"
# Debian ships venv without its pip unless python3-venv is there; a pip of the system can help out.
if ! "$python" -m venv "$folder" > /dev/null 2>&1; then
  rm -rf "$folder"
  if ! { "$python" -m venv --without-pip "$folder" \
    && "$python" -m pip --quiet --python "$folder/bin/python" install pip; }; then
    rm -rf "$folder"
    echo "nearfar: cannot make a virtual environment: apt install python3-venv" >&2
    exit 1
  fi
fi
