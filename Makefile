# `make demo` and `make test` set up everything they need by themselves (in .venv).
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)/python
STAMP := $(VENV)/.installed

.PHONY: demo test test-fast test-numpy test-cuda lint docs bench fuzz clean

# One BLAS thread: the demo's matrices are small, and its times are then those of the code.
demo: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(RUN) examples/mnist/demo.py

test: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(RUN) -m pytest -n auto

test-fast: $(STAMP)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(RUN) -m pytest -n auto -m "not slow"

# The compiler with the versions of NumPy that it is to work with, each in an environment of its own.
NUMPYS ?= 2.0.* 2.1.* 2.2.* 2.3.* 2.4.* 2.5.*
test-numpy:
	.ci/test-numpy "$(PYTHON)" $(NUMPYS)

# What needs a GPU, on a simulated one (with CuPy and a GPU: pytest tests/cuda).
test-cuda: $(STAMP)
	PYTHONPATH=tests/simulated $(RUN) -m pytest tests/cuda tests/chainer_api/backends/test_cuda.py

lint: $(STAMP)
	.ci/lint

# The documentation site, in build/docs; any link that leads nowhere is an error.
docs: $(VENV)/.docs
	nice $(RUN) -m sphinx --fail-on-warning --keep-going --quiet --builder html docs build/docs
	@echo "build/docs/index.html"

$(VENV)/.docs: $(STAMP)
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

bench: $(STAMP)
	$(RUN) benchmarks/bench_replay.py
	$(RUN) benchmarks/bench_trace.py

# Random programs, decorated and not: make fuzz N=20000
N ?= 1000
fuzz: $(STAMP)
	$(RUN) benchmarks/fuzz.py --count $(N)

$(STAMP): pyproject.toml .ci/setup
	.ci/setup "$(PYTHON)" "$(VENV)"

clean:
	rm -rf $(VENV) build demo-output
