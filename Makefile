# Everything below needs only make and Python 3.11 or newer; each target builds .venv when it is missing or out of date.
PYTHON ?= python3
BIN := .venv/bin
RUNS := .venv/runs
READY := .venv/ready
PARTS := pandas,plot,server
unexport PYTHONDONTWRITEBYTECODE  # the tests start hundreds of processes: none compiles what another has compiled

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all coverage fuzz mutants lint format bench peers docs clean

help:
	@echo "make demo      a tour on generated data"
	@echo "make test      the tests, without the slow ones"
	@echo "make test-all  every test"
	@echo "make coverage  which lines and branches of src the tests of make test run, processes of theirs included"
	@echo "make fuzz      made-up questions for an hour, looking for one that breaks or answers other than plain DuckDB;"
	@echo "               make fuzz SECONDS=60 for less"
	@echo "make mutants   careless edits, one by one: which would the tests let through? make mutants ROOMS=curator for less"
	@echo "make lint      style, types, import directions"
	@echo "make bench     the measured claims, as ratios; make peers first for the libraries we compare with"
	@echo "make docs      the documentation, into site/"
	@echo "make clean     remove everything that was built"

setup: $(READY)

# What runs: discreet, its server, and the tables and plots of its pages.
# uv is quicker; where it does not work (no wheel, another way to reach packages), pip does the same.
$(RUNS): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else \
	"discreet needs Python 3.11 or newer, got %d.%d; say make PYTHON=/path/to/python" % v[:2])'
	@echo "building .venv (half a minute)"
	@$(PYTHON) -m venv .venv
	@$(call install,.venv,-e '.[$(PARTS)]')
	@touch $@

# And what it is developed with.
$(READY): $(RUNS)
	@echo "adding the tools of its developers to .venv (a minute or two)"
	@$(call install,.venv,-e '.[dev]')
	@touch $@

# $(call install,ENVIRONMENT,WHAT)
define install
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check uv 2>/dev/null \
	&& $(1)/bin/uv pip install --quiet --python $(1)/bin/python -c constraints.txt $(2) 2>/dev/null \
	|| $(1)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(2)
endef

demo: $(RUNS)
	@$(BIN)/discreet demo

test: setup
	@$(BIN)/pytest -n 3 --dist worksteal -m "not slow"

test-all: setup
	@$(BIN)/pytest -n 2 --hypothesis-profile=explore

# Slower than the tests alone: every process that they start is watched too. A few tests fail while they are watched.
coverage: setup
	@$(BIN)/coverage erase
	@-$(BIN)/coverage run -m pytest -n 3 --dist worksteal -m "not slow"
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

fuzz: setup
	@$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),3600) --jobs $(or $(JOBS),2)

mutants: setup
	@$(BIN)/python -m tests.mutants $(ROOMS)

lint: setup
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: setup
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

bench: setup
	@$(BIN)/python -m benchmarks

# Each peer library lives in its own environment, with whatever versions it wants; beside OpenDP and pure-ldp there is
# also discreet, so that both can be timed in one process. pure-ldp does not declare all that it imports. Tumult needs
# Java. One that does not install is left out.
PEERS := opendp smartnoise-sql pipeline-dp tmlt.analytics pure-ldp interpret-core dpmm jax-privacy
WANTS.opendp := -e . numpy 'opendp[polars]'
WANTS.smartnoise-sql := smartnoise-sql duckdb
WANTS.pipeline-dp := pipeline-dp duckdb pyarrow
WANTS.pure-ldp := -e . pure-ldp multi-freq-ldpy 'xxhash<4' scikit-learn statsmodels
WANTS.interpret-core := interpret-core diffprivlib 'scikit-learn==1.6.1'  # and no newer one: diffprivlib does not import then

peers: $(PEERS:%=.peers/%/ready)

.peers/%/ready: pyproject.toml | setup
	@echo "building .peers/$*"
	@$(PYTHON) -m venv .peers/$*
	@$(BIN)/uv pip install --quiet --python .peers/$*/bin/python $(or $(WANTS.$*),$*) 2>/dev/null \
	|| .peers/$*/bin/python -m pip install --quiet --disable-pip-version-check $(or $(WANTS.$*),$*) \
	|| { echo "$* does not install here"; rm -rf .peers/$*; exit 0; }
	@if [ -d .peers/$* ]; then touch $@; fi

docs: setup
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf .venv .peers site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage*
