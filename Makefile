# Everything that needs set-up does it: `make demo` and `make test` work in a fresh clone.
#
#   make demo        install and run the example on a real street network (two to three minutes on two cores)
#   make test        install for development and run the test suite; build/durations.tsv says what
#                    each file and test cost
#   make test-slow   the tests that need minutes or gigabytes
#   make test-arm64  build for aarch64 Linux, run the core tests in an emulator
#   make test-peers  SciPy's and NetworkX's own tests against nearfar, calls counted
#   make browser     Chromium from Debian for the report's test, where we may install; else a warning
#   make lint        ruff, mypy, clang-format
#   make format      let ruff and clang-format rewrite files
#   make docs-tables regenerate the documentation that comes from the code and from measured results
#   make wheels      wheels for PYTHONS into dist/, repaired by auditwheel and tried without a compiler
#   make docs        the documentation site into build/site, strict on links
#   make clean       remove what was built; `make distclean` also removes .venv
#
# Needs Python 3.11 or newer with headers and venv, and a C++20 compiler; on Debian:
# apt install python3-dev python3-venv g++ make. CMake and Ninja come from PyPI.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2
PYTEST_ARGS ?=
# Of test-arm64; wheels have -O3.
OPTIMIZE ?= -O3
# Vector code of this processor's level alone (native), or of every level (all), as wheels have it.
LEVELS ?= native
# 3.11 and 3.12 each give a wheel; later ones try that of 3.12.
PYTHONS ?= $(PYTHON)

# A change here means building the C++ module again.
NATIVE := pyproject.toml CMakeLists.txt $(shell find src -name '*.cpp' -o -name '*.hpp')
CXX_FILES = $(shell find src tests/algorithms tests/stress -name '*.cpp' -o -name '*.hpp')
BUILD_TOOLS := "scikit-build-core>=0.10" "nanobind>=2.4" "cmake>=3.24" ninja
# The build finds CMake and Ninja of the environment. Building inside it, not in isolation, lets the
# next build compile only what changed.
# Dependencies come from the network while the compiler works.
PIP_INSTALL := $(BIN)/pip --quiet --disable-pip-version-check install --no-compile
INSTALL = PATH="$(CURDIR)/$(BIN):$$PATH" CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) \
          $(PIP_INSTALL) --no-deps --no-build-isolation --editable . \
          --config-settings=cmake.define.NEARFAR_LEVELS=$(LEVELS)
NEEDS = $(BIN)/python scripts/list_requirements.py
# Tests start hundreds of Python processes: they find the package compiled, whatever is set outside.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest

.PHONY: demo dev test test-slow test-arm64 test-peers browser lint format docs docs-tables wheels clean distclean

demo: $(VENV)/demo.stamp
	$(BIN)/python scripts/demo.py

dev: $(VENV)/dev.stamp

test: $(VENV)/dev.stamp
	$(PYTEST) -m "not slow" -n $(JOBS) --dist worksteal $(PYTEST_ARGS)

test-slow: $(VENV)/dev.stamp
	$(PYTEST) -m slow $(PYTEST_ARGS)

test-arm64:
	@JOBS=$(JOBS) OPTIMIZE=$(OPTIMIZE) scripts/test_arm64.sh

test-peers: $(VENV)/dev.stamp
	$(BIN)/python -m tests.peers.scipy_suite
	$(BIN)/python -m tests.peers.networkx_suite

browser:
	@scripts/get_browser.sh

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror $(CXX_FILES)

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(CXX_FILES)

docs-tables: $(VENV)/dev.stamp
	$(BIN)/python -m docs.generators

docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/site is ready; look at it with: $(BIN)/python -m http.server -d build/site"

$(VENV)/docs.stamp: $(VENV)/demo.stamp
	@$(NEEDS) docs plot osm > $(VENV)/needs.txt
	@$(PIP_INSTALL) -r $(VENV)/needs.txt
	@touch $@

wheels:
	$(PYTHON) scripts/make_wheels.py $(PYTHONS)

$(VENV)/tools.stamp:
	@scripts/make_venv.sh "$(PYTHON)" "$(VENV)"
	@echo "installing build tools"
	@$(PIP_INSTALL) $(BUILD_TOOLS)
	@touch $@

$(VENV)/demo.stamp: $(NATIVE) | $(VENV)/tools.stamp
	@echo "compiling and installing nearfar (a minute or two the first time)"
	@$(NEEDS) osm plot > $(VENV)/needs.txt
	@$(PIP_INSTALL) -r $(VENV)/needs.txt & \
	  if $(INSTALL); then wait $$!; else wait; exit 1; fi
	@touch $@

$(VENV)/dev.stamp: $(NATIVE) | $(VENV)/tools.stamp
	@echo "compiling and installing nearfar with everything that tests need"
	@$(NEEDS) dev > $(VENV)/needs.txt
	@$(PIP_INSTALL) -r $(VENV)/needs.txt & \
	  if $(INSTALL); then wait $$!; else wait; exit 1; fi
	@touch $@ $(VENV)/demo.stamp

clean:
	rm -rf build dist demo-output
	find src -name '_cpu*.so' -delete -o -name _cpu.pyi -delete

distclean: clean
	rm -rf $(VENV)
