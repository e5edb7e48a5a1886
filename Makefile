# OwlClaw - a small front for Meson and Ninja. `make help` lists the targets.

PREFIX ?= /usr/local
DESTDIR ?=

.DEFAULT_GOAL := build
.PHONY: help build run test soak schema-diff bench fuzz lint format requirements install clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

build: ## the library, the program and the examples, in build/
	@tools/bootstrap build
	@tools/configure normal >/dev/null && ninja -C build

run: build ## the example server on http://127.0.0.1:8080/mcp, until Ctrl-C
	@exec build/examples/hello-server --port 8080

test: ## every test: normal, ASan+UBSan and TSan
	@tools/bootstrap test
	@tests/run

soak: ## the long forms, for hours: every number of reactors, longer fuzzing, other clients
	@tools/bootstrap test
	@tests/run --soak

SEED ?= 1
PAIRS ?= 100000

schema-diff: build ## PAIRS (100000) generated pairs of SEED (1), judged by us and by two others
	@python3 tests/schema-diff/run.py --seed $(SEED) --pairs $(PAIRS)

bench: build ## the measurements
	@if [ -x bench/run ]; then exec bench/run; else echo "bench: nothing to run yet"; fi

FUZZ_SECONDS ?= 60

fuzz: ## every fuzz target (or FUZZ="a b") for FUZZ_SECONDS (60) seconds, from its seeds
	@tools/bootstrap test
	@tools/fuzz $(FUZZ_SECONDS) $(FUZZ)

lint: ## format, layers, headers, clang-tidy, warnings of both compilers
	@tools/bootstrap test
	@tools/lint

format: ## lay out the C sources as .clang-format says
	@tools/bootstrap test
	@tools/lint --format

requirements: ## docs/requirements.md from the last test run
	@tools/requirements

install: ## into $DESTDIR$PREFIX (PREFIX is /usr/local); says where everything is
	@tools/install "$(PREFIX)" "$(DESTDIR)"

clean: ## remove build/
	@rm -rf build
