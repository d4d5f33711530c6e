# `make demo` and `make test` set up everything they need by themselves (in .venv).
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
STAMP := $(VENV)/.installed

.PHONY: demo test test-fast lint bench clean

demo: $(STAMP)
	$(RUN) examples/mnist/demo.py

test: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(RUN) -m pytest -n auto

test-fast: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(RUN) -m pytest -n auto -m "not slow"

lint: $(STAMP)
	.ci/lint

bench: $(STAMP)
	$(RUN) benchmarks/run_all.py

$(STAMP): pyproject.toml .ci/setup
	.ci/setup "$(PYTHON)" "$(VENV)"

clean:
	rm -rf $(VENV) build demo-output
