PYTHON ?= .venv/bin/python
BIN := $(dir $(PYTHON))

.PHONY: soak soak-compiled soak-kills soak-store soak-jury soak-api soak-rest soak-hour
.PHONY: install check test wheel compiled test-compiled docs docs-dialects bench bench-peers bench-flatness format

install:
	python3 -m venv .venv
	.venv/bin/pip install -e '.[test]'

check:
	$(BIN)ruff format --check .
	$(BIN)ruff check .
	$(BIN)mypy
	$(BIN)lint-imports

test:
	$(PYTHON) -m pytest -n logical

# The wheel as users get it, its busiest modules compiled; takes minutes and needs gcc.
wheel:
	TRACEJURY_COMPILE=1 $(BIN)pip wheel --no-deps --wheel-dir dist .

# The same in a folder: `PYTHONPATH=.compiled` runs tests and benchmarks on it.
compiled:
	rm -rf .compiled
	TRACEJURY_COMPILE=1 $(BIN)pip install --no-deps --target .compiled .

test-compiled:
	PYTHONPATH=.compiled $(PYTHON) -P -c 'from tracejury.doctor import is_compiled; assert is_compiled(), "the tests would run on plain Python"'
	PYTHONPATH=.compiled $(PYTHON) -m pytest -n logical $(COMPILED_TESTS)

COMPILED_TESTS := tests/unit/test_compiled.py $(wildcard tests/unit/test_assemble_*.py tests/unit/test_otlp_*.py tests/unit/test_dialect*.py) \
	tests/unit/test_columns.py tests/unit/test_renormalized_rows.py tests/unit/test_redaction.py tests/unit/test_safety_hostile.py tests/unit/test_unread.py \
	$(wildcard tests/property/test_assemble_*.py tests/property/test_otlp_*.py tests/property/test_dialect_*.py) tests/property/test_rearrival.py tests/e2e/test_receive_exporters.py

# The long proofs, each by itself; docs/promises.md says what they prove.
soak: soak-kills soak-receive soak-store soak-jury soak-api soak-rest soak-hour soak-compiled

SLOW := $(PYTHON) -m pytest -n 0 --override-ini timeout=7200 -m

soak-kills:
	TRACEJURY_KILLS=200 $(SLOW) "slow or not slow" tests/promises/test_01_*.py tests/e2e/test_kill.py
	$(SLOW) slow tests/promises/test_15_*.py tests/promises/test_33_*.py tests/e2e/test_judge_kill.py tests/e2e/test_runs_kill.py
	TRACEJURY_JURY_KILLS=500 $(SLOW) "slow or not slow" tests/promises/test_04_*.py

soak-receive:
	$(SLOW) slow tests/promises/test_0[235-9]_*.py tests/promises/test_1[026]_*.py
	TRACEJURY_FUZZ_S=600 $(SLOW) "slow or not slow" tests/promises/test_11_*.py

soak-store:
	$(SLOW) slow -s tests/store tests/promises/test_1[78]_*.py
	TRACEJURY_ORDERS=10000 $(SLOW) "slow or not slow" tests/promises/test_13_*.py

soak-jury:
	$(SLOW) slow -s tests/promises/test_2[0-3]_*.py

soak-api:
	$(SLOW) slow -s tests/api

soak-compiled: compiled test-compiled

soak-hour:
	$(SLOW) slow -s tests/promises/test_32_flat_over_hours.py

soak-rest:
	TRACEJURY_REPLAY=1000:10 $(SLOW) "slow or not slow" tests/property/test_replay.py
	$(SLOW) slow tests/unit tests/e2e/test_definitions.py tests/e2e/test_events.py tests/e2e/test_export.py tests/e2e/test_judge.py tests/e2e/test_maintenance.py tests/e2e/test_plugins.py

docs:
	$(PYTHON) -m pytest tests/docs

docs-dialects:
	$(PYTHON) -m tests.helpers.dialect_docs

bench:
	$(PYTHON) bench/run.py
	$(PYTHON) bench/bench_jury.py

bench-peers:
	$(PYTHON) bench/peers.py --page docs/comparison.md

bench-flatness:
	$(PYTHON) bench/flatness.py

format:
	$(BIN)ruff format .
	$(BIN)ruff check --fix .
