# make run    set up what running needs, and run the first study: a result and a picture
# make test   set up the rest as well, and run the tests, on all cores
# make notebooks   set up, run the notebooks in analysis/ and store them with their outputs
# make docs   set up and build the documentation into docs/_build/html
# All create a virtual environment in .venv once and use it again afterwards.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready

.PHONY: run test lint notebooks docs clean

run: $(RUNS)
	$(BIN)/fedabm run forty_owners

test: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n logical --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

notebooks: $(READY)
	$(BIN)/python -m fedabm.analysis.notebooks

docs: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# torch goes first, so that the pinned version is taken before anything else asks for a newer one.
$(RUNS): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(READY): $(RUNS)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info results docs/_build docs/_made
