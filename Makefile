# `make demo` and `make test` need nothing but Python 3.10 to 3.13 and pip.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The pip that Python brings works for the environment too; a second one inside it takes seven seconds to unpack.
# Python compiles what it imports; pip would compile every file of every package, one after another.
OUTER_PIP := $(PYTHON) -m pip --python $(BIN)/python
PIP = $$($(OUTER_PIP) --version > /dev/null 2>&1 && echo "$(OUTER_PIP)" || echo "$(BIN)/python -m pip") \
	install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt

# uv takes a fifth of pip's time for the large installs. It does not read pip's settings, so those that decide what is
# found are handed on; where it fails, pip does the work.
PIP_SETTINGS := $(shell $(PYTHON) -m pip config list 2>/dev/null | sed -n "s/^global\.\(.*\)='\(.*\)'$$/\1=\2/p" | sed 's/ /|/g')
pip_setting = $(or $(PIP_$(1)),$(subst |, ,$(patsubst $(2)=%,%,$(filter $(2)=%,$(PIP_SETTINGS)))))
UV = $(addprefix SSL_CERT_FILE=,$(or $(SSL_CERT_FILE),$(call pip_setting,CERT,cert))) \
	$(BIN)/python -m uv pip install --quiet --python $(VENV) --constraint constraints.txt \
	--index-strategy unsafe-best-match $(addprefix --default-index=,$(call pip_setting,INDEX_URL,index-url)) \
	$(addprefix --index=,$(call pip_setting,EXTRA_INDEX_URL,extra-index-url)) \
	$(addprefix --find-links=,$(call pip_setting,FIND_LINKS,find-links))

# Where this is set, every process compiles torch and diffusers anew: eleven seconds of a core.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all lint check bench fuzz fuzz-coverage clean plotly docs

# What the demo needs: .installed where a law answers, .installed-torch where it has to be counted.
DEMO := $(VENV)/.installed

demo: $(DEMO)
	$(BIN)/diffprof profile sd-2.1-base --height 512 --width 512 --steps 30 --guidance 7.5

# The browser is fetched while pip works, and the type checker runs beside the tests.
test:
	@$(MAKE) --no-print-directory -j 2 $(VENV)/.installed-dev $(VENV)/.browser
	@$(MAKE) --no-print-directory -j 2 lint check

# The same, with the tests that try more cases of what others check already.
test-all:
	@$(MAKE) --no-print-directory test EXTENSIVE=--extensive

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: $(VENV)/.bytecode $(VENV)/.browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 4 --dist worksteal $(EXTENSIVE)

# The workers of a fresh environment would all compile the same libraries at once.
$(VENV)/.bytecode: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --collect-only > /dev/null || true
	touch $@

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

# Every law of the package against dry runs of random requests: an hour; REQUESTS=1 tries one of each model, in minutes.
REQUESTS ?= 10
laws: $(VENV)/.installed-dev
	$(BIN)/python -m calibration.prove_laws $(REQUESTS)

# Mutated files for every command that reads one; SEED=7 CASES=5000 for others. Failures are kept in fuzz-failures.
SEED ?= $(shell date +%Y%m%d)
CASES ?= 100000
fuzz: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --seed $(SEED) --cases $(CASES)

# One reader after the other, with inputs that are kept where they reach new code; SECONDS_EACH=3600 for longer.
SECONDS_EACH ?= 300
fuzz-coverage: $(VENV)/.installed-dev
	$(PIP) atheris
	for reader in safetensors gguf snapshot trace profile history; do \
		OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.coverage $$reader --seconds $(SECONDS_EACH) || exit 1; \
	done

# The part of plotly.js that reports embed; needs Node. The result is committed.
plotly:
	cd benchmarks/plotly && npm install --no-save --no-audit --no-fund plotly.js@4.1.1 esbuild && node build.js

# The documentation as a site in build/site, with search and without a request to elsewhere.
docs: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --strict

$(VENV)/.installed-docs: $(VENV)/.torch pyproject.toml
	$(UV) --editable '.[docs]' || $(PIP) --editable '.[docs]'
	touch $(VENV)/.installed $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' \
		|| { echo "diffprof needs Python 3.10 to 3.13; say which with: make PYTHON=python3.11 ..." >&2; exit 2; }
	$(PYTHON) -m venv --without-pip $(VENV)
	$(OUTER_PIP) --version > /dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	touch $@

# Pages are tested in a real browser: Debian's chromium, unless one is there. Without windows it takes two thirds of the time.
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
$(VENV)/.browser: $(VENV)/.created
	command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome \
		|| { $(SUDO) apt-get update -qq \
		&& { $(SUDO) apt-get install -y -qq --no-install-recommends chromium-headless-shell \
		|| $(SUDO) apt-get install -y -qq --no-install-recommends chromium; }; }
	touch $@

$(VENV)/.uv: $(VENV)/.created constraints.txt
	$(PIP) uv
	touch $@

# torch comes first, alone and by pip: asked for by name and version, it is the build that the constraints file means.
# uv might take the one with CUDA, which is gigabytes; one that is installed it leaves alone.
$(VENV)/.torch: $(VENV)/.uv constraints.txt
	$(PIP) torch==$(shell sed -n 's/^torch==//p' constraints.txt)
	touch $@

$(VENV)/.installed: $(VENV)/.uv pyproject.toml
	$(UV) --editable . || $(PIP) --editable .
	touch $@

$(VENV)/.installed-torch: $(VENV)/.torch pyproject.toml
	$(UV) --editable '.[torch]' || $(PIP) --editable '.[torch]'
	touch $(VENV)/.installed $@

$(VENV)/.installed-dev: $(VENV)/.torch pyproject.toml
	$(UV) --editable '.[dev]' || $(PIP) --editable '.[dev]'
	touch $(VENV)/.installed $(VENV)/.installed-torch $@
