# `make help` lists the targets. Those that need packages set up .venv first, once.

SHELL := /bin/sh
STAMP := .venv/.set-up
# Java and C++ as set-up found or installed them, then the tools of .venv by name.
IN_VENV := . .venv/env.sh && export PATH="$(CURDIR)/.venv/bin:$$PATH" &&

.PHONY: help setup run sim spark test lint format fuzz verify bench plots lock dist clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## make .venv from the lock files (PYTHON=... picks the Python)

$(STAMP): requirements.lock requirements-java.lock requirements-cxx.lock pyproject.toml .ci/setup.py
	@python=$$($(FIND_PYTHON)) && "$$python" .ci/setup.py
	@touch $@

run: setup ## check the example rules and match the example events
	@$(IN_VENV) penstock check examples/trades/rules.sql
	@$(IN_VENV) penstock match examples/trades/rules.sql examples/trades/events.csv --engine reference

sim: setup ## compile the example, simulate it and check it against the reference
	@$(IN_VENV) penstock explain examples/trades/rules.sql
	@$(IN_VENV) penstock build examples/trades/rules.sql -o build/trades --area
	@$(IN_VENV) penstock match examples/trades/rules.sql examples/trades/events.csv --engine simulated
	@$(IN_VENV) python examples/trades/simulate.py

spark: setup ## run the example in Spark: rules on a DataFrame of trades
	@$(IN_VENV) spark-submit --master 'local[2]' --conf spark.log.level=ERROR \
	  --conf spark.ui.showConsoleProgress=false examples/spark_alerts.py $(ARGS)

test: setup ## run the tests, without the slow ones
	@$(IN_VENV) HYPOTHESIS_PROFILE=ci pytest $(ARGS)

lint: setup ## check style, format and types
	@$(IN_VENV) ruff check
	@$(IN_VENV) ruff format --check
	@$(IN_VENV) mypy

format: setup ## put the source in the common format
	@$(IN_VENV) ruff check --fix-only
	@$(IN_VENV) ruff format

fuzz: setup ## run the property tests on many random examples
	@$(IN_VENV) HYPOTHESIS_PROFILE=fuzz pytest -m "fuzz or hypothesis" $(ARGS)

verify: setup ## run every test, the slow ones too, print what circuits have been through, and prove
	@$(IN_VENV) HYPOTHESIS_PROFILE=ci pytest -m "" $(ARGS)
	@$(IN_VENV) python -m penstock.sim.cocotb_bench.report build/verification
	@$(IN_VENV) python -m penstock.sim.proofs

bench: setup ## run the benchmarks (ONLY=load runs benches/bench_load.py alone, ARGS go to it)
	@$(IN_VENV) mkdir -p benches/results && for bench in benches/bench_$(or $(ONLY),*).py; do \
	  [ -e "$$bench" ] || { echo "there is no $$bench" >&2; exit 1; }; \
	  echo "$$bench"; python "$$bench" $(if $(ONLY),$(ARGS)) || exit 1; done

plots: setup ## draw docs/*.svg, and fill the table of docs/benchmarks.md, from what was measured
	@$(IN_VENV) python docs/plots.py
	@$(IN_VENV) python docs/figures.py

lock: ## write the lock files again from pyproject.toml (UPGRADE=1 takes newer versions)
	@python=$$($(FIND_PYTHON)) && uv=$$(mktemp -d) && trap 'rm -rf "$$uv"' EXIT && \
	"$$python" -m venv "$$uv" && "$$uv/bin/pip" install --quiet uv && \
	compile() { "$$uv/bin/uv" pip compile --quiet --universal --generate-hashes \
	  --python-version 3.11 --custom-compile-command "make lock" \
	  $(if $(UPGRADE),--upgrade) "$$@" >/dev/null; } && \
	compile pyproject.toml --all-extras --output-file requirements.lock && \
	compile --group java --output-file requirements-java.lock && \
	compile --group cxx --output-file requirements-cxx.lock

dist: setup ## build the wheel and the source archive into dist/
	@rm -rf build dist   # a module deleted since would come back from build/
	@$(IN_VENV) python -c "from setuptools.build_meta import *; build_sdist('dist'); build_wheel('dist')" >/dev/null
	@ls dist

clean: ## remove .venv and all that was built or cached
	rm -rf .venv build dist penstock.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Prints the first Python that is new enough. Each is run: a pyenv shim may exist and fail.
FIND_PYTHON = for python in $(or $(PYTHON),python3 python3.13 python3.12 python3.11); do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && exit; \
	done; echo "penstock needs Python 3.11 or newer; name one with PYTHON=/path/to/python3" >&2; exit 1
