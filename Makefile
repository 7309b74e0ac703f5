# The project's commands. On a machine with nothing but Rust, `make demo` and
# `make test` set up what they need, build and do their job.

CARGO ?= cargo
LLVM_SYS_191_PREFIX ?= /usr/lib/llvm-19
PYTHON ?= python3
TARGET := $(or $(CARGO_TARGET_DIR),target)
export LLVM_SYS_191_PREFIX

# Debian and Ubuntu packages: LLVM 19, what its static libraries refer to, a
# linker with the C and C++ libraries' development files.
PACKAGES := llvm-19-dev libpolly-19-dev zlib1g-dev libzstd-dev gcc g++
RUST_PARTS := rustfmt clippy
# What only tests need: a browser for the page that `bindrune explain --html` makes, an
# OpenCL device made of the processor, HIP's compiler.
TEST_PACKAGES := chromium pocl-opencl-icd ocl-icd-libopencl1 clang-19
# CUDA's compiler, which is a package of Python's.
NVRTC := nvidia-cuda-nvrtc-cu12==12.9.86

.PHONY: help setup setup-test build check test test-all demo bench figures determinism clean

help:
	@echo "make demo         set up, build, compile and run three examples"
	@echo "make check        set up, check format and lints, run unit tests and files of passes"
	@echo "make test         the same, and all programs on all back ends"
	@echo "make test-all     the same after every pass, vendors' compilers, random programs"
	@echo "make build        set up, make build/bindrune with LLVM inside"
	@echo "make bench        build, run the benchmarks"
	@echo "make figures      build, measure the papers' figures again, draw docs/figures/index.html"
	@echo "make determinism  build, compile every program twice, compare the bytes"
	@echo "make setup        install the packages that are missing (setup-test: those of tests, too)"
	@echo "make clean        remove all that was built"

setup:
	@xtask/setup.sh "$(LLVM_SYS_191_PREFIX)" "$(PACKAGES)" "$(RUST_PARTS)"

setup-test:
	@xtask/setup.sh "$(LLVM_SYS_191_PREFIX)" "$(PACKAGES) $(TEST_PACKAGES)" "$(RUST_PARTS)"
	@[ -d $(TARGET)/nvrtc ] || PIP_BREAK_SYSTEM_PACKAGES=1 $(PYTHON) -m pip install --quiet --no-deps --target $(TARGET)/nvrtc $(NVRTC)

build: setup
	$(CARGO) build --release --locked --package bindrune --features static-llvm
	@mkdir -p build
	cp $(TARGET)/release/bindrune build/bindrune

# Format, lints, unit tests, files of passes.
check: setup-test
	$(PYTHON) tests/run.py check

# Also all programs on all back ends.
test: setup-test
	$(PYTHON) tests/run.py test

# Also after every pass, vendors' compilers, random programs, mutants; nothing from the cache.
test-all: setup-test build
	$(PYTHON) tests/run.py all

demo: build
	$(CARGO) run --release --quiet --locked --package xtask -- demo

determinism: build
	$(CARGO) run --release --quiet --locked --package xtask -- determinism

bench: build
	$(PYTHON) bench/run.py

# FIGURES names some of them, with options of bench/figures.py.
figures: build
	$(PYTHON) bench/figures.py $(FIGURES)
	$(CARGO) run --release --quiet --locked --package xtask -- figures

clean:
	rm -rf $(TARGET) build
