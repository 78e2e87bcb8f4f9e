PYTHON ?= .venv/bin/python
BIN := $(dir $(PYTHON))

.PHONY: install check test soak docs docs-dialects bench format

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

soak:
	TRACEJURY_REPLAY=1000:10 TRACEJURY_KILLS=200 $(PYTHON) -m pytest -n 0 -m slow \
		--override-ini timeout=3600 tests
	TRACEJURY_REPLAY=1000:10 TRACEJURY_KILLS=200 $(PYTHON) -m pytest -n 0 \
		--override-ini timeout=3600 tests/e2e/test_kill.py tests/property/test_replay.py

docs:
	$(PYTHON) -m pytest tests/docs

docs-dialects:
	$(PYTHON) -m tests.helpers.dialect_docs

bench:
	$(PYTHON) bench/run.py
	$(PYTHON) bench/bench_jury.py

format:
	$(BIN)ruff format .
	$(BIN)ruff check --fix .
