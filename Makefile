# Everything a developer does, by one word. `make demo` and `make test` set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup demo test check bench chaos fuzz load serve lock format clean

setup: $(READY)

$(READY): requirements/dev.lock requirements/bootstrap.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Kosmos needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed; on Debian: apt-get install python3-venv"; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.lock
	$(BIN)/uv pip sync --quiet --compile-bytecode --system-certs --python $(BIN)/python --require-hashes requirements/dev.lock requirements/bootstrap.lock
	$(BIN)/uv pip install --quiet --system-certs --python $(BIN)/python --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src  # the tests start hundreds of processes
	@touch $@

demo: $(READY)
	@$(BIN)/python scripts/demo.py

test: $(READY)
	$(BIN)/python -m pytest -n 3 --dist loadscope

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file pyproject.toml tests scripts
	$(BIN)/mypy --config-file pyproject.toml bench
	$(BIN)/lint-imports --no-cache
	$(BIN)/python scripts/check_sizes.py
	$(BIN)/python scripts/check_links.py
	$(BIN)/python scripts/make_reference.py --check

bench: $(READY)
	@for file in bench/*.py; do $(BIN)/python $$file || exit 1; done

chaos: $(READY)
	@$(BIN)/python scripts/chaos.py
	@$(BIN)/python scripts/chaos_chunking.py

load: $(READY)
	@$(BIN)/python scripts/load.py

# More than 100,000 cases; some fifteen minutes of one core.
fuzz: $(READY)
	@$(BIN)/python scripts/fuzz_api.py
	@$(BIN)/python scripts/fuzz_api.py --cases 2000 --seed 2 --sockets
	@$(BIN)/python scripts/fuzz_inputs.py

serve: $(READY)
	$(BIN)/kosmos serve

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The lock files name versions and hashes, never addresses.
lock:
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --extra postgres --extra redis --extra office --extra ocr --extra rescue --extra weights --extra models --extra milvus --extra ops --extra dev pyproject.toml -o requirements/dev.lock
	echo uv | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header - -o requirements/bootstrap.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis demo-home bench/results
