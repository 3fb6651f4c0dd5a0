# Running and checking what the Makefile builds.
# For scripts that call make themselves: with the variables of this command line, and unnamed here, so that make -n runs nothing.
AGAIN := $(MAKE) $(MAKEOVERRIDES)
.PHONY: demo test first-hour run-tests run-unit-tests headers-test zoo planted soak fuzz run-fuzz model record docs gpu-check bench bench-ranks sanitize valgrind format format-check lint tidy clean help

demo: $(EXAMPLES)
	@$(OUT)/examples/llama/llama --demo $(if $(MODEL),--model '$(MODEL)') $(DEMO_FLAGS)

# Tests whose outcome could depend on the order in which queued work runs: also under this many seeds, on the host device.
ORDERED := test_writeback test_workers test_memory_nodes test_hostcuda_driver test_hostcuda_virtual test_hostcuda_graphs test_hostcuda_graph_updates test_hostcuda_capture_edits \
           test_streams test_capture test_outputs test_calls test_debug test_errors test_other_captures test_pending_errors test_runtime test_capture_rules \
           test_pitched_memory test_memory_pools test_symbols test_driver_copies test_peers test_event_devices test_threads test_cublas test_graphs test_nccl test_nccl_graphs test_nccl_failures test_step_nccl test_ranks test_ranks_runner test_ranks_tools
ORDERED += test_passes test_passes_within test_runner test_runner_modes test_runner_pool test_runner_idle test_runner_padding test_llama_runner test_pool test_pool_capture test_pool_order test_events test_event_errors test_hooks test_lifetimes \
           test_capture_threads test_runner_misuse test_runner_binding test_runner_passes test_runner_use test_pool_forks test_wrap \
           test_check test_check_blocks test_check_replay test_races test_leaks test_shadow test_shadow_replay test_bisect test_trace test_comm
# Programs that run while no other does:
#   test_build.sh asks make whether anything is left to do, and compiles build/find_gpu anew, which others run.
ALONE := test_build.sh
# What takes longest begins first, so that the end is not one program on one core; what waits is beside what computes.
LONGEST := test_comm_faults test_fetch_headers.sh test_llama_faults.sh test_ranks.sh test_page.sh test_attach_failures.sh test_install.sh test_comm_join test_fault_sweep test_nccl_failures \
           test_llama_bisect test_nccl test_llama_faults test_ranks_llama.sh planted.sh test_planted_files.sh test_planted_bugs.sh test_bisect.sh test_attach_break.sh
# What is asleep for most of its time, until a rank gives up on another one: beside what computes, not in its place.
WAITING := test_host_functions test_capture_rules test_comm_faults test_comm_handshake test_comm_join test_comm_meeting test_comm_runner test_comm_missing test_nccl_failures \
           test_attach_step.sh test_soak.sh test_check.sh
longest_first = $(foreach name,$(LONGEST),$(filter %/$(name),$(1))) $(filter-out $(addprefix %/,$(LONGEST)),$(1))
# A name without a test would be one that does nothing.
unknown = $(filter-out planted.sh $(notdir $(UNIT) $(CONFORMANCE) $(RANDOM) $(FUZZ) $(LAYERS) $(CLI_TESTS) $(RANDOM_PLANTED) $(ZOO_TESTS)),$($(1)))
$(foreach list,ORDERED ALONE LONGEST WAITING,$(if $(call unknown,$(list)),$(error mk/check.mk: $(list) names no test: $(call unknown,$(list)))))
# Programs that share a GPU would disturb each other in memory and time.
run = tests/run $(if $(filter cuda,$(DEVICE)),--jobs 1)
SEEDS := 10
seeds = $(if $(filter host,$(DEVICE)),--seeds $(SEEDS) --seeded '$(ORDERED)')

# Small defects in copies of the host device, each of which a conformance case must notice.
PLANTED := $(if $(filter host,$(DEVICE)),tests/conformance/planted.sh)
plant = PLANTED_TEST='$(OUT)/tests/conformance/test_capture_rules' PLANTED_COMPILE='$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS)' \
  PLANTED_LINK='$(CC) -pthread $(SAN) $(ALL_LDFLAGS)' PLANTED_LIBS='$(TEST_LIBS) $(LIB_LDLIBS) $(RANKS_LDLIBS) $(DEVICE_LDLIBS) -lm -lpthread -lcmocka'
planted: $(OUT)/tests/conformance/test_capture_rules
	$(if $(PLANTED),@$(plant) $(PLANTED),@echo "make planted is about the host device: DEVICE=host" >&2; exit 1)

# The installed tree, the wheel, the command and the benchmarks are what tests/cli tests; built here, nothing is left to build while others run.
test: run-tests
run-tests: tests all $(if $(VARIANT),,benches soaks zoos $(if $(SAN)$(WHEEL_MISSING),,$(WHEEL_FILES)))
	@tools/gpu-record stale
	@CC='$(CC)' CXX='$(CXX)' NVCC='$(NVCC)' OUT='$(OUT)' DEVICE='$(DEVICE)' BUILD='$(BUILD)' MAKE='$(AGAIN)' $(plant) \
	  $(run) --results $(OUT)/test-results.tsv --alone '$(ALONE)' --waiting '$(WAITING)' $(seeds) $(RUN_FLAGS) \
	  $(call longest_first,$(UNIT) $(CONFORMANCE) $(RANDOM) $(FUZZ) $(if $(VARIANT),,$(LAYERS) $(CLI_TESTS) $(PLANTED) $(RANDOM_PLANTED) $(ZOO_TESTS)))

run-unit-tests: $(UNIT)
	@$(run) --results $(OUT)/unit-results.tsv $(RUN_FLAGS) $(call longest_first,$(UNIT))

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
	$(if $(filter host,$(DEVICE)),@$(HOSTILE) $(run) --results $(OUT)/memory-results.tsv $(RUN_FLAGS) $(UNIT) $(CONFORMANCE) $(RANDOM))
	$(if $(filter host,$(DEVICE)),@tests/zoo/run --symptoms --seeds $(SEEDS) $(OUT))
	$(if $(filter host,$(DEVICE)),@BG_COMPILE=3 tests/zoo/run --compare docs/records/zoo.md $(OUT) $(wildcard tests/zoo/ops/*.c))
	@$(OUT)/tests/random/test_random --programs 20000
	@for seed in $$(seq $(SEEDS)); do for prove in once off; do \
	  BG_COMPILE=2 BG_COMPILE_PROVE=$$prove $(OUT)/tests/random/test_random --programs 100 --seed $$((seed * 1000)) || exit 1; done; done
	@$(OUT)/tests/random/test_bugs --programs 4000
	$(if $(filter host,$(DEVICE)),@PROGRAMS=4000 CC='$(CC)' CXX='$(CXX)' OUT='$(OUT)' DEVICE='$(DEVICE)' BUILD='$(BUILD)' tests/cli/attach/test_attach_random.sh)
	@$(run) --results $(OUT)/soak-results.tsv $(seeds) $(RUN_FLAGS) $(filter $(addprefix %/,$(ORDERED)),$(UNIT) $(CONFORMANCE))
	$(if $(filter host,$(DEVICE)),@$(run) --results $(OUT)/sweep-results.tsv --seeds $(SWEEP_SEEDS) --seeded test_fault_sweep $(filter %/test_fault_sweep,$(UNIT)))
	$(if $(filter host,$(DEVICE)),@CC='$(CC)' CXX='$(CXX)' OUT='$(OUT)' DEVICE='$(DEVICE)' BUILD='$(BUILD)' SWEEP_STRIDE=1 tests/cli/attach/test_attach_failures.sh)
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
	  $(MAKE) --no-print-directory DEVICE=host VARIANT=-sanitize OPT='-O1 -g' SAN='$(SANITIZERS)' RUN_FLAGS='--timeout 1200' run-tests

# BREAKGRAPH_TEST_SMALL asks the tests for their small workload; OpenBLAS's kernels for Haswell are those that valgrind can run.
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
	@BREAKGRAPH_TEST_SMALL=1 OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Haswell \
	  $(run) --results $(OUT)/valgrind-results.tsv --timeout 1200 --under '$(VALGRIND)' $(UNIT)

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
