PYTHON ?= .venv/bin/python
BIN := $(dir $(PYTHON))

.PHONY: install check test docs docs-dialects bench format

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
