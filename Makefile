# `make book` builds the book, `make test` shows why it can be trusted. Both make the environment that they need.
PYTHON ?= python3
VENV ?= .venv
RUN = $(VENV)/bin/python
TORCH = $(shell sed -n 's/^torch==/torch==/p' requirements.txt)

.PHONY: book test serve clean

book: $(VENV)/ready
	$(RUN) -m lessonlib.book build

test: $(VENV)/ready
	$(RUN) -m lessonlib.book build
	$(RUN) -m pytest --numprocesses logical --dist loadfile -m "not alone"
	$(RUN) -m pytest -m alone

serve: $(VENV)/ready
	$(RUN) -m lessonlib.book serve

clean:
	rm -rf _build

# The CPU build of PyTorch first, from its own index where that can be reached; then everything else, pinned. The lock is
# complete, so pip need not resolve it.
$(VENV)/ready: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else "this book needs Python 3.11, 3.12 or 3.13; name one with: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	@$(RUN) -m pip install --quiet --retries 0 --index-url https://download.pytorch.org/whl/cpu "$(TORCH)" 2>/dev/null || { \
		echo "PyTorch's index of CPU builds cannot be reached; PyPI's build, taken instead, may bring gigabytes of CUDA"; \
		$(RUN) -m pip install --quiet "$(TORCH)"; }
	$(RUN) -m pip install --quiet --no-deps --requirement requirements.txt
	$(RUN) -m pip install --quiet --no-deps --editable .
	touch $@
