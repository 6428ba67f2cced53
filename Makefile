# A thin layer over CMake and Ninja. `make help` lists the targets.

PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
JOBS ?= $(shell nproc)
SECONDS_EACH ?= 60
ARCH ?= x86_64

.DEFAULT_GOAL := all
.PHONY: all help deps install uninstall clean check check-all check-fresh check-packages check-quick demo bench screenshots fuzz wheel tarball dist deb format

all: ## build
	@scripts/install-deps --check build || { echo "run: make deps" >&2; exit 1; }
	@mkdir -p $(BUILD)
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(CMAKE_FLAGS) >$(BUILD)/configure.log 2>&1 \
	    || { cat $(BUILD)/configure.log >&2; exit 1; }
	@cmake --build $(BUILD) -j $(JOBS)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

deps: ## install what building and the demo need (packages.txt, engines/), as root or by sudo
	@scripts/install-deps build engine

install: all ## install under PREFIX (default /usr/local), into DESTDIR if given
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

uninstall: all ## remove what `make install` with the same PREFIX and DESTDIR put there
	@scripts/uninstall "$(BUILD)" "$(PREFIX)" "$(DESTDIR)"

clean: ## remove everything that was built
	@rm -rf build build-check build-arm64 build-asan build-tsan build-fuzz build-wheel dist $(BUILD)

check: ## install what is needed, build, run all tests
	@scripts/check check

check-all: ## the same, with builds for arm64 (in an emulator) and by sanitizers, the fuzzers, the wheels
	@scripts/check

check-quick: ## the tests for the loop while coding: no engine, no browser, no sanitizer
	@scripts/check quick

check-fresh: ## `make demo` in new minimal systems of Debian 13 and sid (as root; six minutes)
	@scripts/check-fresh

check-packages: ## `make dist`, `deb` and `tarball` in new minimal systems of Debian 12 and older (as root; ten minutes)
	@scripts/check-packages

demo: ## from nothing to a trace: dependencies, build, model, run, findings
	@scripts/demo

bench: ## measure what tracing costs, write bench/report.md (65 minutes; BENCH_QUICK=1: 3)
	@bench/run "$(BUILD)"

screenshots: all ## make docs/pictures/*.png anew, of a real trace, in a real browser
	@scripts/screenshots "$(BUILD)"

fuzz: ## run each fuzzer for SECONDS_EACH (default 60)
	@scripts/fuzz $(SECONDS_EACH)

wheel: ## dist/tensortrace-*.whl for pip, with the command in it (ARCH=x86_64, or aarch64; docs/python.md)
	@scripts/make-wheel --arch $(ARCH)

tarball: ## dist/tensortrace-*-linux-x86_64.tar.gz, the programs for any system with glibc 2.28 or newer
	@scripts/make-wheel --tarball

dist: ## dist/tensortrace-*.tar.xz, the sources of this commit, which build without network
	@scripts/make-dist

deb: ## dist/*.deb, packages of them for this Debian release
	@scripts/make-deb

format: ## clang-format over the C sources
	@find src include examples tests bench ui -name '*.[ch]' -not -path '*/node_modules/*' | xargs clang-format -i
