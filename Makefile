# A thin layer over the CMake presets: `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo check test coverage soak bench amalgamation docs lint format clean

CLANG_FORMAT := clang-format-19
# Tracked and new files, but no files that git ignores.
SOURCES = git ls-files -z --cached --others --exclude-standard -- '*.cpp' '*.hpp' '*.h' | sort -zu
# The compile database is for g++. With it, clang warns about libstdc++ 12's own use of things that C++20 deprecates.
TIDY_FLAGS := -Wno-unknown-warning-option -Wno-deprecated-declarations
# Hides the output of the configuration unless it fails.
quiet_configure = log=$$(cmake --preset $(1) 2>&1) || { echo "$$log"; exit 1; }

help: ## print the targets
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

# For the demo; bench has no default.
demo: NAME ?= address_book
demo: ## install what is missing, build, and run the address book, or the demo NAME=bank, cache, drawing, memcached, spool or sqlite
	@scripts/setup build $(if $(filter memcached sqlite,$(NAME)),softpm)
	@$(call quiet_configure,release)
	@cmake --build --preset release --target $(NAME)_demo
	@build/release/bin/$(NAME)_demo

# Tests of single layers, of files of older formats, of includes, and of power losses: the ones that most changes break
# first.
CHECK_PROGRAMS := compat crash $(patsubst %,unit_%,alloc api base format capi history inspect log os recover share store testing track txn types view) \
	$(patsubst %,unit_%_threads,api capi log os track txn)
check: ## the inner loop: optimized build, unit tests and some crash states, in minutes
	@scripts/setup build tests
	@$(call quiet_configure,release)
	@cmake --build --preset release --target $(CHECK_PROGRAMS)
	@REMANENCE_CRASH_STATES=50 ctest --preset release -R '^(layering|($(subst $() ,|,$(CHECK_PROGRAMS)))[.])' \
		-E 'notices_every_step|[.]with_'

test: ## install what is missing, build, and run the tests, with and without sanitizers; NAME=all runs all of them, NAME=malloc, softpm or docs others
	@scripts/setup build tests $(filter-out all,$(NAME))
ifeq ($(filter-out all,$(NAME)),)
	@scripts/test $(NAME)
else
	@$(call quiet_configure,release)
	@cmake --build --preset release --target test_$(NAME)
endif

COVERAGE_TESTS := unit_store unit_log unit_recover unit_inspect unit_txn unit_api crash damage
coverage: ## run the tests of store, log and recovery in a coverage build; list the branches that were never taken
	@scripts/setup build tests
	@$(call quiet_configure,coverage)
	@cmake --build --preset coverage --target $(COVERAGE_TESTS)
	@find build/coverage -name '*.gcda' -delete
	@REMANENCE_CRASH_STATES=2000 ctest --preset coverage --output-log build/coverage/tests.log --quiet \
		-R '^($(subst $() ,|,$(COVERAGE_TESTS)))[.]' -E notices_every_step || { cat build/coverage/tests.log; exit 1; }
	@scripts/branch_coverage build/coverage store log recover

MINUTES ?= 60
soak: ## attack the library for MINUTES (60) and print what was tried
	@scripts/setup build tests
	@$(call quiet_configure,release -DREMANENCE_ALL_TESTS=ON)
	@cmake --build --preset release --target conformance crash damage faults faults_system_calls_no_sanitizer pairs process unit_api unit_share workload_program news_spool
	@$(call quiet_configure,asan-ubsan)
	@cmake --build --preset asan-ubsan --target fuzzers
	@scripts/soak $(MINUTES)

bench: ## build and run one benchmark: NAME=<name> [JSON=<file>]; NAME=all: those that have aims, in short form, and one table
	@[ -n "$(NAME)" ] || { echo "usage: make bench NAME=<name> [JSON=<file>]; see bench/" >&2; exit 2; }
	@scripts/setup build bench $(if $(filter all softpm,$(NAME)),softpm)
	@$(call quiet_configure,release)
	@cmake --build --preset release --target bench_$(NAME)
	@build/release/bench/$(NAME) $(if $(JSON),--json "$(JSON)")

amalgamation: ## write the library as two files, remanence.hpp and remanence.cpp, to build/amalgamation
	@scripts/amalgamate build/amalgamation

docs: ## build the site of the documentation, with the reference of the headers and a search that works offline, in build/docs/site
	@scripts/setup docs
	@scripts/site build/docs

lint: ## check the formatting and run clang-tidy; warnings are errors
	@scripts/setup build tests bench lint
	@$(SOURCES) | xargs -0 -r $(CLANG_FORMAT) --dry-run -Werror || { echo 'lint: make format mends this' >&2; exit 1; }
	@$(call quiet_configure,debug)
	@run-clang-tidy-19 -quiet -p build/debug $(addprefix -extra-arg=,$(TIDY_FLAGS)) \
		'^$(CURDIR)/(src|examples|bench|tests|tools)/'

format: ## rewrite the sources in the project's format
	@scripts/setup lint
	@$(SOURCES) | xargs -0 -r $(CLANG_FORMAT) -i

clean: ## remove all that was built
	@rm -rf build
