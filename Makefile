# The first of the names $(1) that is a Python from 3.10 on and below $(2), a tuple.
find = $(shell for name in $(1); do \
	"$$name" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < $(2))' \
	2>/dev/null && echo "$$name" && break; done)
NAMES := python3 python3.12 python3.11 python3.10 python3.13 python3.14
WITH_MXNET := (3, 13)
ANY := (4,)

# The first that MXNet runs on, else the first that opperf runs on, unless PYTHON= names another.
PYTHON ?= $(or $(call find,$(NAMES),$(WITH_MXNET)),$(call find,$(NAMES),$(ANY)))

VENV := .venv
BIN := $(VENV)/bin

# Twice quiet: errors only.
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check

# The PyTorch that the tests are written against. Not an extra's own requirement, which would take
# the newest; none with TORCH=. `make run` installs PyTorch only if it is named, as it is large.
TORCH ?= torch==2.13.0

# A process for each core and one more, as tests wait for processes; at most as many as have the
# memory for a framework and its workers. A module's tests stay together, for what they share, until
# a process has nothing left to do. What is skipped is listed, by its reason. Python keeps its
# compiled files, also where the environment says otherwise: without them each of a thousand
# processes compiles opperf for half a second.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -rs -n $(shell expr $$(nproc) + 1) --maxprocesses 8 --dist worksteal

# Files or folders of tests, for `make test FILES=tests/results`.
FILES :=

.DEFAULT_GOAL := help
.PHONY: help run test test-all lint docs package mutate bench

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' $(MAKEFILE_LIST)

run: $(VENV)/installed ## Install opperf and MXNet (else what there is) into .venv, run a short benchmark, print and save its table
ifeq ($(origin TORCH),command line)
	$(if $(TORCH),$(PIP) $(TORCH))
endif
	@$(BIN)/python tools/short_benchmark.py

test: $(VENV)/installed-dev ## Run the tests, but for the sweeps; with FILES=, those of files or folders, sweeps too
	$(PYTEST) $(or $(FILES),-m "not sweep")

test-all: $(VENV)/installed-dev ## Run all tests, whole registries among them
	$(PYTEST)

lint: $(VENV)/installed-lint ## Check style, words, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/python tools/check_words.py
	@$(BIN)/python tools/check_types.py
	$(BIN)/lint-imports --no-logo

docs: | $(BIN)/python ## Build the documentation site into site/, which opens without a network
	$(PIP) -e '.[docs]'
	@# Not quiet: then MkDocs counts no warning, and `strict` means nothing.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo site/index.html

package: | $(BIN)/python ## Build the wheel and the source distribution into dist/, and check them as an index would
	rm -rf dist build/package
	$(BIN)/python -m venv build/package
	build/package/bin/python -m pip install -qq --disable-pip-version-check '.[package]'
	build/package/bin/python -m build --outdir dist . > build/package.log || { cat build/package.log; exit 1; }
	build/package/bin/python tools/check_package.py dist --python $(BIN)/python

mutate: $(VENV)/installed-dev ## Count the random changes of the code that its unit tests notice
	$(PIP) -e '.[mutate]'
	$(BIN)/python tools/mutate.py

bench: $(VENV)/installed-dev ## Measure opperf itself against a hand-written loop
	$(BIN)/python benchmarks/timers/overhead.py

# A PYTHON= of another version than that of .venv makes .venv again.
ifeq ($(origin PYTHON),command line)
ifneq ($(wildcard $(BIN)/python),)
ifneq ($(shell $(BIN)/python -V),$(shell $(PYTHON) -V))
.PHONY: $(BIN)/python $(VENV)/installed $(VENV)/installed-dev $(VENV)/installed-lint
endif
endif
endif

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "opperf needs Python 3.10 or later;" \
		"install one, or name it: make PYTHON=/path/to/python3.12" >&2; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	@# The pip of Python 3.10 resolves Altair's dependencies for hours.
	@$(PIP) --upgrade pip
	@# Where MXNet does not run, a PyTorch that PYTHON already has is measured.
	@$(PYTHON) tools/share_torch.py $(VENV)

# Stamps, so that nothing is installed twice; a change of the dependencies installs again. Without
# MXNet where there is none for this system; its extra is empty where there is none for this Python.
$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[mxnet]' || $(PIP) -e .
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev]' $(TORCH)
	@touch $@ $(VENV)/installed $(VENV)/installed-lint

$(VENV)/installed-lint: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[lint]'
	@touch $@
