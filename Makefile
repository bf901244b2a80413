# The first of these that is a Python MXNet runs on, unless PYTHON= names another. On a later one
# opperf measures what else is installed.
PYTHON ?= $(shell for name in python3 python3.12 python3.11 python3.10; do \
	"$$name" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 13))' \
	2>/dev/null && echo "$$name" && break; done)

VENV := .venv
BIN := $(VENV)/bin

# Twice quiet: errors only.
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check

# The PyTorch that the tests are written against. Not an extra's own requirement, which would take
# the newest; none with TORCH=.
TORCH ?= torch==2.13.0

TABLE := benchmark.md
BENCHMARK := run relu broadcast_add dot Convolution softmax \
	--size small --warmup 5 --runs 20 --overwrite -f md -o $(TABLE)

# A process for each core, up to as many as have the memory for a framework and its workers. A
# module's tests stay together, for what they share, until a process has nothing left to do.
PYTEST = $(BIN)/python -m pytest -q -n $(shell nproc) --maxprocesses 8 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help run test test-all lint mutate bench

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' $(MAKEFILE_LIST)

run: $(VENV)/installed ## Install MXNet and opperf into .venv, run a short benchmark, print and save its table
	$(BIN)/opperf $(BENCHMARK)

test: $(VENV)/installed-dev ## Run the tests, but for the sweeps
	$(PYTEST) -m "not sweep"

test-all: $(VENV)/installed-dev ## Run all tests, whole registries among them
	$(PYTEST)

lint: $(VENV)/installed-dev ## Check style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

mutate: $(VENV)/installed-dev ## Count the random changes of the code that its unit tests notice
	$(PIP) -e '.[mutate]'
	$(BIN)/python tools/mutate.py

bench: $(VENV)/installed-dev ## Measure opperf itself against a hand-written loop
	$(BIN)/python benchmarks/overhead.py

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "MXNet needs Python 3.10, 3.11 or 3.12;" \
		"install one, or name it: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@# The pip of Python 3.10 resolves Altair's dependencies for hours.
	@$(PIP) --upgrade pip

# Stamps, so that nothing is installed twice; a change of the dependencies installs again.
$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[mxnet]'
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev]' $(TORCH)
	@touch $@ $(VENV)/installed
