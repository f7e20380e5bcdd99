# All commands run in a local virtual environment; only python3 and make are needed.
PYTHON ?= python3
VENV := .venv
CONSTRAINTS := constraints.txt
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# One BLAS thread: fastest for these sizes, and the tests run on all cores already.
export OPENBLAS_NUM_THREADS ?= 1
# Tests start many processes; each would compile all modules again if none were kept.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test test-all test-faults mutants test-torch test-kernels test-oldest test-newest fuzz coverage lint bench docs docs-serve docs-browser docs-outputs readme clean

help:
	@echo "make demo          the demonstration: limits from the kernel to the rich regime, and one flow"
	@echo "make test          the default tests"
	@echo "make test-all      all tests: more random draws and cases, long figures, and the installed wheel"
	@echo "make test-faults   plant wrong formulas and components; checks, figures and tests must detect them"
	@echo "make mutants       N=100 random mutations (SEED=1); lists those that no default test detects; over an hour"
	@echo "make test-torch    the tests that need PyTorch, in their own environment"
	@echo "make test-kernels  the numerical tests with the BLAS kernels of other CPUs (KERNELS=--short: two of them)"
	@echo "make test-oldest   all tests with the oldest allowed dependencies (PYTHON=python3.11)"
	@echo "make test-newest   all tests with the newest dependencies (for example PYTHON=python3.13)"
	@echo "make fuzz          the property-based tests on many more examples, different in each run"
	@echo "make coverage      the default tests with line and branch coverage"
	@echo "make lint          ruff and mypy"
	@echo "make bench         compare Tacit with alternatives"
	@echo "make docs          build the documentation in docs/_build/html; check links; warnings are errors"
	@echo "make docs-serve    build it and serve it at http://localhost:8000 (PORT=8000)"
	@echo "make docs-browser  check it in Chromium, wide and narrow, light and dark: accessibility, console, network"
	@echo "make docs-outputs  run the code on all pages and update the printed output below it"
	@echo "make readme        measure the numbers in README.md and write them there; takes minutes"
	@echo "make clean         remove virtual environments and all outputs"

setup: $(READY)

$(READY): pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tacit needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS:%=-c %) -e '.[dev]'
	touch $@

demo: setup
	$(BIN)/tacit demo

test: setup
	$(BIN)/python -m pytest

test-all: setup
	$(BIN)/python -m pytest -m 'not faults'

test-faults: setup
	$(BIN)/python -m pytest -m faults

# Runs on a copy of the checkout and resumes after an interruption. PART="potentials solvers/kkt.py" restricts it.
N ?= 100
SEED ?= 1
mutants: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS:%=-c %) -e '.[dev,mutants]'
	$(BIN)/python tests/mutants/mutants.py --count $(N) --seed $(SEED) $(if $(PART),--part $(PART))

# Prefers the CPU build of PyTorch.
TORCH := .venv-torch
$(TORCH)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		"torch==$$(sed -n 's/^torch==//p' constraints.txt)+cpu" 2> /dev/null || echo "no CPU build found; using the default build"
	$(TORCH)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,torch]'
	touch $@

test-torch: $(TORCH)/.ready
	$(TORCH)/bin/python -m pytest -m torch

test-kernels: setup
	$(BIN)/python tests/kernels.py $(KERNELS)

test-oldest:
	$(MAKE) test-all VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt

test-newest:
	$(MAKE) test-all VENV=.venv-newest CONSTRAINTS=

fuzz: setup
	TACIT_FUZZ=$${TACIT_FUZZ:-20} $(BIN)/python -m pytest -m hypothesis

coverage: setup
	$(BIN)/python -m pytest --cov --cov-report=term --cov-report=xml

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/python benchmarks/limit.py
	$(BIN)/python benchmarks/flow.py --quick

# Neither the build nor the pages use the network.
DOCS ?= .venv-docs
SITE := docs/_build/html
PORT ?= 8000
$(DOCS)/.ready-docs: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

docs: $(DOCS)/.ready-docs
	$(DOCS)/bin/python -m sphinx --quiet --nitpicky --fail-on-warning --keep-going docs $(SITE)
	$(DOCS)/bin/python docs/_site/check.py $(SITE)

docs-serve: docs
	$(DOCS)/bin/python -m http.server --directory $(SITE) $(PORT)

# Needs Chromium; CHROMIUM gives its path if it is not on PATH.
docs-browser: docs
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt playwright axe-playwright-python
	$(DOCS)/bin/python docs/_site/browser.py $(SITE)

docs-outputs: setup
	$(BIN)/python tests/support/pages.py

readme: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/python benchmarks/readme.py

clean:
	rm -rf $(VENV) .venv-oldest .venv-newest $(TORCH) $(DOCS) tacit-output tacit-mutants .coverage* coverage.xml
	rm -rf docs/_build docs/_examples docs/gallery docs/reference/generated
