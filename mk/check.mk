# Running and checking what the Makefile builds.
# For scripts that call make themselves: with the variables of this command line, and unnamed here, so that make -n runs nothing.
AGAIN := $(MAKE) $(MAKEOVERRIDES)
.PHONY: demo test test-all test-rest first-hour run-tests run-unit-tests headers-test zoo planted soak fuzz run-fuzz model record docs gpu-check bench bench-ranks sanitize valgrind format format-check lint tidy clean help

demo: all
	@$(OUT)/examples/llama/llama --demo $(if $(MODEL),--model '$(MODEL)') $(DEMO_FLAGS)

# ---- which tests, and how much of them ----
# SIZE: fast (make test), all (make test-all), small (make valgrind). tests/tiers says what each program costs.
SIZE ?= $(if $(filter test-all test-rest,$(GOALS)),all,fast)
# Small defects in copies of the host device, each of which a conformance case must notice.
PLANTED := $(if $(filter host,$(DEVICE)),tests/conformance/planted.sh)
ALL_TESTS := $(UNIT) $(CONFORMANCE) $(RANDOM) $(FUZZ) $(if $(VARIANT),,$(LAYERS) $(CLI_TESTS) $(PLANTED) $(RANDOM_PLANTED) $(ZOO_TESTS))
rows = $(addprefix %/,$(shell awk '!/^\#/ && ($(1)) { print $$1 }' tests/tiers))
DEEP := $(filter $(call rows,$$4 == "-"),$(ALL_TESTS))
QUARTER ?= 0
# T=NAME...: those that have one of these in their names.
ifneq ($(origin T),command line)
T :=
endif
picked = $(strip $(foreach test,$(ALL_TESTS),$(if $(strip $(foreach name,$(T),$(findstring $(name),$(notdir $(test))))),$(test))))
ifneq ($(filter test-rest,$(GOALS)),)
TESTS := $(filter $(call rows,$$4 != $$5 && n++ % 4 == $(QUARTER)),$(ALL_TESTS))
else ifneq ($(T),)
TESTS := $(or $(picked),$(error make test T='$(T)': no test has that in its name))
else
TESTS := $(if $(filter all,$(SIZE)),$(ALL_TESTS),$(filter-out $(DEEP),$(ALL_TESTS)))
endif
# What scripts need beside `all`: their lines "# needs:" and, where all is run, "# needs-all:" name targets, or files in OUT.
SCRIPTS := $(filter %.sh,$(TESTS))
NEEDED := $(if $(SCRIPTS),$(sort all $(shell sed -n 's/^\# needs$(if $(filter all,$(SIZE)),\(-all\)\?): //p' $(SCRIPTS))))
# Those of shared/ stand in front of the host device's library alone.
NEEDED := $(filter-out $(if $(SAN)$(WHEEL_MISSING),wheel-files) $(if $(filter cuda,$(DEVICE)),$(OUT)/shared/%) %/,$(foreach word,$(NEEDED),$(if $(findstring /,$(word)),$(OUT)/)$(word)))
# Programs that share a GPU would disturb each other in memory and time.
run = tests/run $(if $(filter cuda,$(DEVICE)),--jobs 1) --tiers tests/tiers
seeds = $(if $(filter host,$(DEVICE)),--seeds $(SEEDS))
SEEDS := $(if $(filter all,$(SIZE)),10,2)
ORDERED := $(filter $(call rows,$$3 == "seeds"),$(ALL_TESTS))
# A line without a test would be one that does nothing; on a GPU, and without NCCL, not all are there.
ifeq ($(DEVICE)$(VARIANT)$(if $(RANKS_OBJ),,-),host)
unknown = $(filter-out $(notdir $(ALL_TESTS)),$(subst %/,,$(call rows,1)))
$(if $(unknown),$(error tests/tiers names no test: $(unknown)))
endif

plant = PLANTED_TEST='$(OUT)/tests/conformance/test_capture_rules' PLANTED_COMPILE='$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS)' \
  PLANTED_LINK='$(CC) -pthread $(SAN) $(ALL_LDFLAGS)' PLANTED_LIBS='$(TEST_LIBS) $(LIB_LDLIBS) $(RANKS_LDLIBS) $(DEVICE_LDLIBS) -lm -lpthread -lcmocka'
planted: $(OUT)/tests/conformance/test_capture_rules
	$(if $(PLANTED),@$(plant) $(PLANTED),@echo "make planted is about the host device: DEVICE=host" >&2; exit 1)

test test-all test-rest: run-tests
# What tests ask make for is built before, so that nothing is left to build while others run.
run-tests: $(filter-out %.sh,$(TESTS)) $(NEEDED)
	$(if $(T),,@tools/gpu-record stale)
	@CC='$(CC)' CXX='$(CXX)' NVCC='$(NVCC)' OUT='$(OUT)' DEVICE='$(DEVICE)' BUILD='$(BUILD)' MAKE='$(AGAIN)' $(plant) \
	  $(run) $(seeds) --size $(SIZE) --results $(OUT)/$(if $(T),one,$(if $(filter test-rest,$(GOALS)),rest,test))-results.tsv $(if $(T),--whole) $(RUN_FLAGS) $(TESTS)

run-unit-tests: $(UNIT)
	@$(run) --results $(OUT)/unit-results.tsv $(RUN_FLAGS) $(UNIT)

# The unit tests on the host device with the headers of each toolkit that tools/fetch-headers knows: one line for each.
HEADERS := $(sort $(notdir $(wildcard tools/headers/*)))
headers-test:
	$(if $(HEADERS),,@echo "make headers-test: tools/headers lists no toolkit; say which: make headers-test HEADERS=13.0" >&2; exit 1)
	@mkdir -p $(BUILD)/headers-test; bad=0; for version in $(HEADERS); do log=$(BUILD)/headers-test/$$version.log; \
	  if ! tools/fetch-headers $$version $(BUILD)/headers/$$version; then echo "✗ CUDA $$version: no headers"; bad=1; \
	  elif $(MAKE) --no-print-directory DEVICE=host CUDA_HOME=$(abspath $(BUILD))/headers/$$version \
	    BUILD=$(BUILD)/headers-test/$$version run-unit-tests >$$log 2>&1; then echo "✓ CUDA $$version: $$(tail -n 1 $$log)"; \
	  else echo "✗ CUDA $$version: $$(tail -n 1 $$log); see $$log"; bad=1; fi; done; exit $$bad

# On machines that have nothing yet.
first-hour:
	@BUILD='$(BUILD)' tests/first-hour $(PART)

# Reported bugs as programs, and what the commands find in them.
zoo: all zoos
	@tests/zoo/run $(if $(filter host,$(DEVICE)),--out docs/records/zoo.md,--jobs 1) $(OUT)

# What takes long: many replays, many seeds, all under hostile memory, and the planted defects. A seed of the
# fault sweep is some ten thousand failing calls: of it, fewer.
HOSTILE := HOSTCUDA_MEMORY=poison,fence
soak: SEEDS := 200
SWEEP_SEEDS := 10
soak: tests soaks all zoos $(if $(PLANTED),planted)
	@for program in $(SOAK); do $$program || exit 1; done
	$(if $(filter host,$(DEVICE)),@$(HOSTILE) $(OUT)/tests/soak/soak_ranks)
	$(if $(filter host,$(DEVICE)),@$(HOSTILE) $(run) --size all --results $(OUT)/memory-results.tsv $(RUN_FLAGS) $(UNIT) $(CONFORMANCE) $(RANDOM))
	$(if $(filter host,$(DEVICE)),@tests/zoo/run --symptoms --seeds $(SEEDS) $(OUT))
	$(if $(filter host,$(DEVICE)),@BG_COMPILE=3 tests/zoo/run --compare docs/records/zoo.md $(OUT) $(wildcard tests/zoo/ops/*.c))
	@$(OUT)/tests/random/test_random --programs 20000
	@for seed in $$(seq $(SEEDS)); do for prove in once off; do \
	  BG_COMPILE=2 BG_COMPILE_PROVE=$$prove $(OUT)/tests/random/test_random --programs 100 --seed $$((seed * 1000)) || exit 1; done; done
	@$(OUT)/tests/random/test_bugs --programs 4000
	$(if $(filter host,$(DEVICE)),@PROGRAMS=4000 CC='$(CC)' CXX='$(CXX)' OUT='$(OUT)' DEVICE='$(DEVICE)' BUILD='$(BUILD)' tests/cli/attach/test_attach_random.sh)
	@$(run) $(seeds) --size all --results $(OUT)/soak-results.tsv $(RUN_FLAGS) $(ORDERED)
	$(if $(filter host,$(DEVICE)),@for seed in $$(seq $(SWEEP_SEEDS)); do HOSTCUDA_SEED=$$seed BREAKGRAPH_TEST_SIZE=all $(filter %/test_fault_sweep,$(UNIT)) || exit 1; done)
	$(if $(filter host,$(DEVICE)),@CC='$(CC)' CXX='$(CXX)' OUT='$(OUT)' DEVICE='$(DEVICE)' BUILD='$(BUILD)' BREAKGRAPH_TEST_SIZE=all SWEEP_STRIDE=1 tests/cli/attach/test_attach_failures.sh)
	$(if $(filter host,$(DEVICE)),@if BREAKGRAPH_NO_INSTALL=1 $(find_fuzzer) >/dev/null 2>&1; then $(MAKE) $(fuzz); else \
	  echo "fuzz skipped: $(CLANG) with libFuzzer is not installed$(comma) and make fuzz says how"; fi)

model:
	@tools/fetch-model $(MODEL_FILE)

# What the conformance cases are held to: a GPU's answers, and the pages that show them.
record: $(RECORDER)
	$(if $(RECORDER),@$(RECORDER),@echo "make record needs a GPU: DEVICE=$(DEVICE) has no recorder" >&2; exit 1)
# Pages that hold the table of variables.
VARIABLE_PAGES := docs/environment.md packaging/breakgraph.1 $(wildcard packaging/completions/*breakgraph*)
docs: $(OUT)/tests/conformance/document $(OUT)/tools/variables
	@for page in $(VARIABLE_PAGES); do $(OUT)/tools/variables <$$page >$$page.new && mv $$page.new $$page || exit 1; done
	@mkdir -p docs/records
	@$<

gpu-check:
	@MAKE='$(AGAIN)' CC='$(CC)' BUILD='$(BUILD)' BENCH_FLAGS='$(BENCH_FLAGS)' tools/gpu-record check $(PART)

bench: $(BENCH)
	@$(BENCH) $(BENCH_FLAGS)
bench-ranks: $(RANKS_BENCH)
	$(if $(RANKS_BENCH),@$(RANKS_BENCH) $(BENCH_FLAGS),@echo "make bench-ranks needs NCCL" >&2; exit 1)

SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
sanitize:
	@UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=0 \
	  $(MAKE) --no-print-directory DEVICE=host VARIANT=-sanitize SIZE=all OPT='-O1 -g' SAN='$(SANITIZERS)' RUN_FLAGS='--timeout 1200' run-tests

# OpenBLAS's kernels for Haswell are those that valgrind can run.
# The readers on what libFuzzer makes up, each for FUZZ_SECONDS, from FUZZ_SEED (0: another one each time, which is printed).
# Clang builds them with all that they read by; newer ones also hold each call of a function to its type, which C does not.
FUZZ_SECONDS := 60
FUZZ_SEED := 0
CLANG := $(if $(findstring clang,$(notdir $(CC))),$(CC),clang)
CLANGXX := $(foreach word,$(CLANG),$(if $(findstring /,$(word)),$(dir $(word)))$(subst clang,clang++,$(notdir $(word))))
find_fuzzer = CC='$(CLANG)' tools/packages $(if $(SILENT),-q) libfuzzer
fuzz = --no-print-directory DEVICE=host VARIANT=-fuzz CC='$(CLANG)' CXX='$(CLANGXX)' OPT='-O1 -g' \
  SAN='$(SANITIZERS) -fsanitize=fuzzer-no-link -fno-sanitize=function' CFLAGS='$(CFLAGS) -Wno-error' CXXFLAGS='$(CXXFLAGS) -Wno-error' run-fuzz
fuzz:
	@$(find_fuzzer)
	@$(MAKE) $(fuzz)
run-fuzz: $(FUZZ)
	@tests/fuzz/run $(FUZZ_SECONDS) $(FUZZ_SEED) $(FUZZ)

VALGRIND := valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect,possible \
            --show-leak-kinds=definite,indirect,possible
# Fenced memory faults on purpose and goes on, which is an error to valgrind; it does not know where a division by zero stands.
valgrind: UNIT := $(filter-out %/test_kernel_division %/test_hostcuda_memory %/test_hostcuda_poison %/test_runner_memory %/test_step_fault,$(UNIT))
valgrind: $(UNIT)
	@command -v valgrind >/dev/null || { echo "valgrind is missing. Type: apt-get install -y valgrind" >&2; exit 1; }
	@OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Haswell \
	  $(run) --size small --results $(OUT)/valgrind-results.tsv --timeout 1200 --under '$(VALGRIND)' $(UNIT)

need_clang_format = @command -v clang-format >/dev/null || { echo "clang-format is missing. Type: apt-get install -y clang-format" >&2; exit 1; }
format:
	$(need_clang_format)
	@clang-format -i $(or $(ALL_SOURCES),$(error no sources to format))
format-check:
	$(need_clang_format)
	@clang-format --dry-run -Werror $(or $(ALL_SOURCES),$(error no sources to look at))

lint: format-check tidy
tidy: $(OUT)/debug/report/page_lines.inc $(OUT)/debug/attach/allocators/feed_lines.inc $(OUT)/debug/attach/shim/names.inc
	@command -v clang-tidy >/dev/null || { echo "clang-tidy is missing. Type: apt-get install -y clang-tidy" >&2; exit 1; }
	@tools/tidy $(JOBS) $(ALL_CPPFLAGS) -I$(OUT) $(DEFINES) $(hostcuda_cc_places) -std=c11 -- $(C_SOURCES)

clean:
	rm -rf $(BUILD)

help:
	@cat mk/help.txt
