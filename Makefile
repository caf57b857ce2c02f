# Two commands: `make audit` scans the built-in scenario, `make test` checks the project.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SHARED_DATA := $(realpath ../shared/data)
export FEDLEAK_DATA ?= $(SHARED_DATA)
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Tests start hundreds of interpreters, and each would compile every module again
unexport PYTHONDONTWRITEBYTECODE
N_WORKERS ?= 2

.PHONY: audit site test lint types contracts check nightly faults matrix supply frameworks results clean

audit: $(VENV)/.installed
	$(BIN)/fedleak audit --out fedleak-audit

test: lint types contracts check

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check src tests examples scripts
	$(BIN)/ruff format --check src tests examples scripts

types: $(VENV)/.installed-dev
	$(BIN)/mypy
	$(BIN)/mypy scripts

contracts: $(VENV)/.installed-dev
	$(BIN)/lint-imports

check: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n $(N_WORKERS)

# What theory and attacks promise, on 500 random scenarios; a part of the tests has 50.
# Mutated files through every reader, for at most 20 minutes, and 10 more led by the branches that they reach; a part of
# the tests has 15 of each seed, and a few seconds of the latter
nightly: $(VENV)/.installed-dev
	$(BIN)/python scripts/fuzz_files.py --count 50000 --seconds 1200 --jobs $(N_WORKERS)
	$(BIN)/python scripts/fuzz_covered.py --seconds 600
	$(BIN)/python scripts/random_scenarios.py --count 500 --first 5000 --no-file --jobs $(N_WORKERS)

# Ends audits in every way that we know of, and writes docs/reliability.md
faults: $(VENV)/.installed-dev
	$(BIN)/python scripts/faults.py

# Fresh environments with the newest and with the oldest dependencies, on every Python that is here
matrix: $(VENV)/.installed-dev
	$(BIN)/python scripts/matrix.py

# What is installed with fedleak, as CycloneDX, a build that gives the same files twice, and known vulnerabilities of
# the pins; where these cannot be looked up it says so, which is no failure
supply: $(VENV)/.installed-dev
	$(BIN)/python scripts/supply.py sbom
	$(BIN)/python scripts/supply.py build
	$(BIN)/python scripts/clean_installs.py
	$(BIN)/python scripts/advisories.py || [ $$? -eq 4 ]

# Makes every framework's environment (gigabytes, minutes), and tries captures from installation to leak
frameworks: $(VENV)/.installed-dev
	FEDLEAK_FRAMEWORK_TESTS=1 $(BIN)/python -m pytest -n 0 tests/frameworks

# Hours: every committed experiment again, or some: make results ONLY="hu2022/fig4 li2021/fig7"
results: $(VENV)/.installed-dev
	$(BIN)/python scripts/results.py $(ONLY)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "fedleak needs Python 3.11 or newer; got $$($(PYTHON) --version). Set PYTHON=/path/to/python3.11"; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv module is missing; on Debian and Ubuntu: apt-get install python3-venv"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@ $(VENV)/.installed

# The documentation as a site, in site/; the extra `docs` comes into an environment of its own
site: $(VENV)/.installed
	$(PYTHON) -m venv $(VENV)/site
	$(VENV)/site/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(VENV)/site/bin/mkdocs build --strict

clean:
	rm -rf $(VENV)

.PHONY: docs
docs: $(VENV)/.installed
	$(BIN)/python -m fedleak.auditing.scenario_reference > docs/.scenario.md && mv docs/.scenario.md docs/scenario.md
	$(BIN)/python -m fedleak.report.json_reference > docs/.report_json.md && mv docs/.report_json.md docs/report_json.md
	$(BIN)/python scripts/captures_page.py > docs/.captures.md && mv docs/.captures.md docs/captures.md
	$(BIN)/python scripts/cost_table.py --page
