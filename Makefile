# Every target sets itself up: .venv is made from constraints.txt and pyproject.toml when needed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUN    := $(VENV)/.run
DEV    := $(VENV)/.dev
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
SCENARIO ?= demo

.PHONY: demo test check bench nightly results notebooks golden requirements differential clean

demo: $(RUN)
	$(BIN)/tasksim run $(SCENARIO) --out out/demo

test: $(DEV) check
	$(BIN)/python -m pytest -m "not nightly and not notebooks"

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(DEV)
	$(BIN)/python -m tests.benchmarks.engine

nightly: $(DEV)
	$(BIN)/python -m pytest -m nightly

results: $(DEV)
	$(BIN)/tasksim run demo --replications 10 --out results/demo
	$(BIN)/tasksim compare-live live-smoke --out results/first-circle
	$(BIN)/tasksim sweep demo --over receiver.poll_frequency.interval_s=1:30:log6 \
	    --set requesters.impatient.polling="{ kind = 'hint', default_s = 5 }" --out results/poll-interval

notebooks: $(DEV)
	$(BIN)/python -m pytest -m notebooks tests/notebooks

golden: $(DEV)
	$(BIN)/python -m tests.golden.traces

requirements: $(DEV)
	$(BIN)/python -m tests.quality.requirements

$(RUN): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	$(BIN)/python -m tasksim.engines.fast.warm
	touch $@

$(DEV): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e ".[test]"
	$(BIN)/python -m tasksim.engines.fast.warm
	touch $(RUN) $@

# Both engines on N random scenarios, without tolerance.
N ?= 50000
differential: $(DEV)
	N=$(N) $(BIN)/python -m pytest tests/differential

clean:
	rm -rf $(VENV) out build dist
