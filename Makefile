# `make demo` and `make test` do all their own set-up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export MPLBACKEND := Agg
# Most of a test's time goes into compiling programs that run for a moment. Pages of the
# documentation run longer, and stored models hold numbers that users got; they and
# the slow suite are compiled as for users.
QUICKLY := --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false
KEPT := tests/saving/test_stored_models.py
# Modules imported from here count the lines that run, in all processes of a test run.
COUNTED := PYTHONPATH="$(CURDIR)/build/lines$${PYTHONPATH:+:$$PYTHONPATH}"
COVERAGE := $(BIN)/python -m tests.lines.coverage

.PHONY: demo test coverage test-slow check browser reproduce format lock clean help

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): requirements/lock.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/lock.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY) ## reproduce one figure of the paper in about a minute
	$(BIN)/ocbnn reproduce fig1-left --out results/demo

# More workers than cores: tests that wait for a page or a process leave room for others.
WORKERS ?= 4

test: check browser ## lint, types, layers, tests, coverage
	$(COVERAGE) start
	$(COUNTED) XLA_FLAGS="$$XLA_FLAGS $(QUICKLY)" \
	    $(BIN)/python -m pytest -n $(WORKERS) --durations=10 tests src --ignore=$(KEPT)
	$(COUNTED) $(BIN)/python -m pytest -n $(WORKERS) --durations=10 docs README.md $(KEPT)
	$(COVERAGE) report

coverage: ## the map of the last `make test` again, also while it runs
	@$(COVERAGE) report

test-slow: $(READY) browser ## the tests that take minutes
	$(BIN)/python -m pytest -n 2 -m slow

browser: ## Chromium for the studio's tests, from Debian's packages if it is missing
	@command -v chromium >/dev/null || \
	    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } || \
	    echo "Chromium is missing: the studio's tests in a browser will be skipped."

check: $(READY) ## lint, types and layers only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --level error
	$(BIN)/lint-imports

reproduce: $(READY) ## every synthetic figure of the paper, with index.html
	$(BIN)/ocbnn reproduce toys --out results

format: $(READY) ## rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: ## renew the pins and their hashes (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url \
	    --no-header --no-annotate --generate-hashes --extra test pyproject.toml requirements/build.in \
	    -o requirements/lock.txt

clean: ## remove what the commands above made
	rm -rf $(VENV) results build
