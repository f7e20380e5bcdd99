# Everything runs in a local virtual environment; only python3 and make are needed.
PYTHON ?= python3
VENV := .venv
CONSTRAINTS := constraints.txt
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# One BLAS thread: fastest at these sizes, and the tests already use every core.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: help setup demo test test-all test-faults mutants test-torch test-kernels test-oldest test-newest fuzz coverage lint bench docs docs-serve docs-browser docs-outputs readme clean

help:
	@echo "make demo          the main job on built-in data: limits from the kernel to the rich regime, and one flow"
	@echo "make test          the tests of every day"
	@echo "make test-all      all tests: also other draws, long figures, claims that must fail, and the wheel"
	@echo "make test-faults   wrong theories and pieces, planted one by one: checks, figures and tests must notice"
	@echo "make mutants       N=100 random mutants (SEED=1), and those that no daily test notices; an hour or more"
	@echo "make test-torch    the tests that need PyTorch, which the others leave out"
	@echo "make test-kernels  the numerical tests as other CPUs would run them (KERNELS=--short: two of them)"
	@echo "make test-oldest   all tests with the oldest dependencies that are allowed (PYTHON=python3.11)"
	@echo "make test-newest   all tests with the newest ones there are (PYTHON=python3.13, say)"
	@echo "make fuzz          the property tests on many more examples, new ones in each run"
	@echo "make coverage      the tests of every day, and which lines and branches of the source they run"
	@echo "make lint          ruff and mypy"
	@echo "make bench         Tacit against what one would use instead, side by side"
	@echo "make docs          the documentation as a site, in docs/_build/html; links are checked, warnings are errors"
	@echo "make docs-serve    the same, shown at http://localhost:8000 (PORT=8000)"
	@echo "make docs-browser  looks at it in Chromium, wide, narrow, light and dark: accessibility, console, network"
	@echo "make docs-outputs  runs the code on all pages and writes what it prints below it"
	@echo "make readme        measures the numbers of README.md and writes them there; minutes"
	@echo "make clean         remove the virtual environment and all outputs"

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

# On a copy of the checkout; stopped, it goes on where it was. PART="potentials solvers/kkt.py" draws from these.
N ?= 100
SEED ?= 1
mutants: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINTS:%=-c %) -e '.[dev,mutants]'
	$(BIN)/python tests/mutants/mutants.py --count $(N) --seed $(SEED) $(if $(PART),--part $(PART))

# PyTorch's CPU build is taken where pip finds one.
TORCH := .venv-torch
$(TORCH)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		"torch==$$(sed -n 's/^torch==//p' constraints.txt)+cpu" 2> /dev/null || echo "no CPU build found; taking any"
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

# Nothing is fetched while it is built, and nothing by a page that is read.
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

# Needs a Chromium of this machine, named by CHROMIUM where it is not on the path.
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
