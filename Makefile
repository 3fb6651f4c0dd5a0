# breakgraph. `make help` lists targets and variables.
VERSION := 0.2.0
SOVERSION := 1
comma := ,

BUILD ?= build
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/breakgraph
DESTDIR ?=
V ?= 0
MODEL ?=
PART ?=
MODEL_FILE := model/SmolLM2-135M-Instruct.Q4_1.gguf

# gcc and g++; where they are not installed and clang is, clang and clang++.
compiler = $(shell command -v $(1) >/dev/null 2>&1 || ! command -v $(2) >/dev/null 2>&1 && echo $(1) || echo $(2))
ifeq ($(origin CC),default)
CC := $(call compiler,gcc,clang)
ABSENT := $(if $(filter clang,$(CC)),gcc)
endif
ifeq ($(origin CXX),default)
CXX := $(call compiler,g++,clang++)
ABSENT := $(ABSENT) $(if $(filter clang++,$(CXX)),g++)
endif
OPT ?= -O2 -g
SAN ?=
VARIANT ?=
PORTABLE_FIBERS ?= 0

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules
GOALS := $(or $(MAKECMDGOALS),all)
JOBS := $(shell nproc 2>/dev/null || echo 2)
ifeq ($(MAKELEVEL)$(findstring -j,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(JOBS)
endif

# ---- what is there: GPU, toolkit, packages -----------------------------------------------------------
# Goals that build nothing look for nothing.
BUILDS := $(filter-out help clean model format format-check gpu-check first-hour headers-test fuzz,$(GOALS))

ifneq ($(BUILDS),)
ifneq ($(DEVICE),host)
GPU := $(shell [ debug/cli/process/gpu.c -ot $(BUILD)/find_gpu ] || { mkdir -p $(BUILD) && $(CC) -O1 -I. -o $(BUILD)/find_gpu tools/find_gpu.c debug/cli/process/gpu.c; } && timeout 30 $(BUILD)/find_gpu || { [ $$? -lt 124 ] || echo the driver hangs; })
GPU_PARTS := $(subst |, ,$(subst $() ,_,$(GPU)))
GPU_FOUND := $(findstring |,$(GPU))
endif
DEVICE ?= $(if $(GPU_FOUND),cuda,host)
ifeq ($(filter cuda host,$(DEVICE)),)
$(error DEVICE=$(DEVICE) is unknown; allowed: cuda, host)
endif
# Relative where make, or the shell of a recipe, would not take the name of this folder as one word.
FETCHED := $(if $(shell pwd | LC_ALL=C grep '[^A-Za-z0-9_./+-]'),$(BUILD),$(abspath $(BUILD)))/headers
CUDA_FOUND := $(subst |, ,$(shell tools/find_cuda $(DEVICE) "$(CUDA_HOME)" $(if $(filter command,$(origin CUDA_HOME)),only)))
# Without a toolkit the host device needs only its headers; make -n and lint take those that are there.
ifeq ($(if $(filter !%,$(CUDA_FOUND)),$(DEVICE))$(filter command,$(origin CUDA_HOME)),host)
FETCHES := $(if $(findstring n,$(filter-out -%,$(firstword $(MAKEFLAGS)))),,$(filter-out lint tidy,$(BUILDS)))
CUDA_HEADERS := $(subst |, ,$(shell $(if $(FETCHES),CC='$(CC)' HEADERS_WHOLE='$(HEADERS_WHOLE)' BREAKGRAPH_NO_INSTALL='$(BREAKGRAPH_NO_INSTALL)' tools/fetch-headers 13.0 '$(FETCHED)/13.0' >&2 &&) tools/find_cuda host '$(FETCHED)/13.0' only))
CUDA_FOUND := $(or $(if $(filter !%,$(CUDA_HEADERS)),,$(CUDA_HEADERS)),$(CUDA_FOUND))
FOR_HEADERS := $(if $(FETCHES),,tools/fetch-headers 13.0 $(FETCHED)/13.0)
# For the tests, which look for it too.
export CUDA_HOME
endif
ifneq ($(filter !%,$(CUDA_FOUND)),)
$(error $(patsubst !%,%,$(CUDA_FOUND))$(if $(FOR_HEADERS),. Or fetch its headers: $(FOR_HEADERS)))
endif
override CUDA_HOME := $(word 1,$(CUDA_FOUND))
CUDA_VERSION := $(word 2,$(CUDA_FOUND))
CUDA_LIB := $(word 3,$(CUDA_FOUND))
endif

DEVICE ?= host
NVCC ?= $(CUDA_HOME)/bin/nvcc
CUDA_ARCH ?= $(if $(GPU_FOUND),$(word 2,$(GPU_PARTS)),90)
OUT := $(BUILD)/$(DEVICE)$(VARIANT)
# The library needs the first; the host device, the examples and the tests need the others.
PACKAGES := cjson $(if $(filter host,$(DEVICE)),openblas) $(if $(filter-out install wheel,$(GOALS)),uthash) $(if $(findstring test,$(GOALS))$(filter sanitize valgrind bench bench-ranks benches planted soak soaks record docs,$(GOALS)),cmocka dlpack pkg-config xxhash)

# ---- flags -----------------------------------------------------------------------------------------------
WARN := -Wall -Wextra -Wpedantic -Werror
ALL_CPPFLAGS := -Iinclude -Ihostcuda/include -Isrc -I. $(if $(filter 12.%,$(CUDA_VERSION)),-Iinclude/cuda12) -isystem $(CUDA_HOME)/include -D_GNU_SOURCE $(if $(filter 1,$(PORTABLE_FIBERS)),-DHOSTCUDA_PORTABLE_FIBERS) $(CPPFLAGS)
DEFINES := -DBG_VERSION='"$(VERSION)"' -DBG_DEVICE_KIND='"$(DEVICE)"' -DBG_SOVERSION='"$(SOVERSION)"'
ALL_CFLAGS := -std=c11 $(OPT) $(WARN) -fPIC -fvisibility=hidden -pthread $(SAN) $(CFLAGS)
ALL_CXXFLAGS := -std=c++17 $(OPT) -Wall -Wextra -Werror -Wno-unknown-pragmas -fPIC -pthread $(SAN) $(CXXFLAGS)
NVCCFLAGS := -std=c++17 -O2 -lineinfo -gencode arch=compute_$(CUDA_ARCH),code=[sm_$(CUDA_ARCH),compute_$(CUDA_ARCH)] \
             -Xcompiler -fPIC,-Wall,-Wextra $(if $(filter g++,$(ABSENT)),-ccbin $(CXX))
ALL_LDFLAGS := -Wl,--as-needed $(LDFLAGS)

ifeq ($(DEVICE),host)
DEVICE_LIB := $(OUT)/libhostcuda.a
DEVICE_SO := $(OUT)/libhostcuda.so
DEVICE_LDLIBS := -lopenblas -lstdc++
SO_LINK := -L$(OUT) -lhostcuda -lstdc++ -Wl,-rpath,'$$ORIGIN'
else
# Beside the toolkit or in the system; what needs it is tested where it is found.
NCCL_FOUND := $(wildcard $(CUDA_LIB)/libnccl.so)$(filter /%,$(shell $(CC) -print-file-name=libnccl.so))
DEVICE_LDLIBS := -L$(CUDA_LIB) -Wl,-rpath,$(CUDA_LIB) -lcublas -lcudart $(if $(NCCL_FOUND),-lnccl) -lstdc++
SO_LINK := -L$(CUDA_LIB) -Wl,-rpath,$(CUDA_LIB) -lcudart -lstdc++
endif

# What libbreakgraph needs beside the device.
LIB_LDLIBS := -lcjson

ifneq ($(filter host,$(DEVICE))$(NCCL_FOUND),)
# And its header, wherever the compiler finds it.
NCCL_HEADER := $(shell printf '\043include <nccl.h>\n' | $(CC) $(ALL_CPPFLAGS) -fsyntax-only -x c - 2>/dev/null && echo there)
DEFINES += $(if $(NCCL_HEADER),-DBG_NCCL)
# What libbreakgraph_nccl needs beside that.
RANKS_LDLIBS := $(if $(NCCL_HEADER),-lcrypto)
PACKAGES += $(if $(NCCL_HEADER),libcrypto)
endif

# ---- files -----------------------------------------------------------------------------------------------
# Rooms: all that lies in a folder, however deep. tests/layers/rooms has their order.
find = $(sort $(foreach type,$(2),$(shell find $(1) -type f -name '[!.]*.$(type)')))
objects = $(patsubst %,$(OUT)/%.o,$(basename $(filter-out %.cu,$(1)))) $(patsubst %,$(OUT)/%.o,$(filter %.cu,$(1)))
LIB_ROOMS := src/base src/op src/memory src/graph src/capture src/compile src/runner debug kernels/library
LIB_OBJ := $(call objects,$(filter-out debug/attach/% debug/cli/%,$(call find,$(LIB_ROOMS),c cu)))
RANKS_OBJ := $(if $(NCCL_HEADER),$(call objects,$(call find,src/comm,c)))
HOSTCUDA_OBJ := $(call objects,$(call find,hostcuda/src,c cpp S))
HOSTCUDA_CC_OBJ := $(call objects,$(call find,hostcuda/cc,c))
COMMAND_OBJ := $(call objects,$(call find,debug/cli,c))
KERNEL_OBJ := $(call objects,$(call find,kernels/model,cu))
LLAMA_SOURCES := $(filter-out %/main.c examples/llama/faults/%,$(call find,examples/llama,c))
LLAMA_OBJ := $(call objects,$(LLAMA_SOURCES))
# The same with mistakes to plant, for tests alone.
FAULTY_SOURCES := $(LLAMA_SOURCES) $(call find,examples/llama/faults,c)
FAULTY_OBJ := $(patsubst %.c,$(OUT)/faults/%.o,$(FAULTY_SOURCES)) $(call objects,$(call find,examples/llama/faults,cu))
CONFORMANCE_MAINS := tests/conformance/record.c tests/conformance/document.c
TEST_SUPPORT_OBJ := $(call objects,$(filter-out $(CONFORMANCE_MAINS) tests/conformance/test_%,$(call find,tests/support tests/conformance,c)))
RANDOM_OBJ := $(call objects,$(filter-out tests/random/test_%,$(call find,tests/random,c)))
TEST_KERNEL_OBJ := $(call objects,$(filter-out tests/zoo/% tests/programs/% tests/cli/%,$(call find,tests,cu)))
EXAMPLES := $(addprefix $(OUT)/,$(basename $(wildcard examples/*.c examples/*.cpp examples/graphs/*.c examples/adopt/*.c examples/runner/*.c))) $(patsubst %/main.c,$(OUT)/%/llama,$(wildcard examples/llama/main.c)) $(OUT)/examples/hostcuda/missing_join
UNIT := $(addprefix $(OUT)/,$(basename $(call find,tests/unit,c cpp)))
# Their paths by their names.
unit = $(patsubst $(OUT)/%,%,$(filter $(addprefix %/test_,$(1)),$(UNIT)))
CONFORMANCE := $(patsubst %.c,$(OUT)/%,$(filter tests/conformance/test_%,$(call find,tests/conformance,c)))
RANDOM := $(patsubst %.c,$(OUT)/%,$(filter tests/random/test_%,$(call find,tests/random,c)))
# libFuzzer's runtime has a main of its own, and once.c is that of the others.
FUZZ := $(patsubst %.c,$(OUT)/%,$(filter-out $(if $(RANKS_OBJ),,%_wire.c),$(filter tests/fuzz/fuzz_%,$(call find,tests/fuzz,c))))
FUZZ_OBJ := $(call objects,tests/fuzz/fuzz.c tests/support/llama/gguf_writer.c $(if $(findstring fuzzer,$(SAN)),,tests/fuzz/once.c))
RECORDER := $(if $(filter cuda,$(DEVICE)),$(OUT)/tests/conformance/record)
BENCH := $(OUT)/tests/bench/bench
RANKS_BENCH := $(if $(RANKS_OBJ),$(OUT)/tests/bench/bench_ranks)
SOAK := $(patsubst %.c,$(OUT)/%,$(filter tests/soak/soak_%,$(call find,tests/soak,c)))
# One program a case: with breakgraph; of plain CUDA calls, linked as programs that --attach enters; those that need a GPU.
ZOO_OPS := $(patsubst %.c,$(OUT)/%,$(call find,tests/zoo/ops,c))
ZOO_PLAIN := $(patsubst %.c,$(OUT)/%,$(call find,tests/zoo/plain $(if $(filter cuda,$(DEVICE)),$(wildcard tests/zoo/gpu)),c))
# Those with breakgraph once more, as programs that --attach enters: their own tools are off.
ZOO_ATTACHED := $(ZOO_OPS:$(OUT)/%=$(OUT)/attached/%)
ZOO := $(ZOO_OPS) $(ZOO_PLAIN) $(ZOO_ATTACHED) $(OUT)/tests/zoo/findings
# Programs of plain CUDA, one a file, for both devices.
PROGRAMS := $(patsubst %.cu,$(OUT)/%,$(call find,tests/programs,cu))
ZOO_TESTS := $(if $(filter host,$(DEVICE)),$(call find,tests/zoo,sh))
CLI_TESTS := $(filter-out %/lib.sh %/build.sh,$(call find,tests/cli,sh))
RANDOM_PLANTED := $(filter tests/random/test_%,$(call find,tests/random,sh))
LAYERS := $(call find,tests/layers,sh)
# The recorder stands for a profiler.
# Linked with libhostcuda.so, so that another library can stand in front of the driver.
SHARED_PROGRAMS := $(if $(filter host,$(DEVICE)),$(addprefix $(OUT)/shared/,$(addprefix tests/conformance/test_,capture_rules cublas graphs runtime threads) $(call unit,hostcuda_entries hostcuda_faults pitched_memory memory_pools symbols attributes occupancy peers device_reset) llama_faults))
NVTX_RECORDER := $(if $(wildcard $(CUDA_HOME)/include/nvtx3/nvToolsExt.h),$(OUT)/tests/cli/command/nvtx_recorder.so)
CLI_PROGRAMS := $(SHARED_PROGRAMS) $(addprefix $(OUT)/tests/cli/,command/ranges command/pages command/mix command/rules llama_faults) $(NVTX_RECORDER)
COMMAND := $(OUT)/breakgraph
# The compiler of the host device's kernels.
HOSTCUDA_CC := $(if $(filter host,$(DEVICE)),$(OUT)/hostcuda-cc)
RANKS_LIB := $(if $(RANKS_OBJ),$(OUT)/libbreakgraph_nccl.a)
LIBRARIES := $(OUT)/libbreakgraph.a $(OUT)/libbreakgraph.so $(RANKS_LIB) $(RANKS_LIB:.a=.so) $(DEVICE_LIB) $(DEVICE_SO)
# What format and lint look at; without NCCL's header, lint cannot read what needs it.
SOURCE_ROOMS := include src hostcuda debug kernels examples tests
NEEDS_NCCL := src/comm/% tests/bench/comm/%
C_SOURCES = $(filter-out $(if $(RANKS_OBJ),,$(NEEDS_NCCL)),$(call find,$(SOURCE_ROOMS) tools,c))
ALL_SOURCES = $(filter-out tests/unit/llama/golden/%,$(call find,$(SOURCE_ROOMS),c h hpp cpp cu cuh) $(call find,tools,c))

# ---- rules -----------------------------------------------------------------------------------------------
SILENT := $(findstring s,$(filter-out -%,$(firstword $(MAKEFLAGS))))
say = $(if $(filter 1,$(V)),,@$(if $(SILENT),,printf '  %-6s %s\n' '$(1)' '$(patsubst $(OUT)/%,%,$@)';))
READY := $(OUT)/found.device $(if $(strip $(PACKAGES)),$(OUT)/found.$(subst $() ,-,$(strip $(PACKAGES))))

.PHONY: all tests benches soaks zoos nvtx-recorder shared-programs plain-programs FORCE
all: $(LIBRARIES) $(COMMAND) $(HOSTCUDA_CC) $(EXAMPLES)
tests: $(UNIT) $(CONFORMANCE) $(RANDOM) $(FUZZ) $(RECORDER) $(CLI_PROGRAMS) $(PROGRAMS) $(OUT)/tools/variables
benches: $(BENCH) $(RANKS_BENCH)
soaks: $(SOAK)
zoos: $(ZOO)
nvtx-recorder: $(NVTX_RECORDER)
shared-programs: $(SHARED_PROGRAMS)
plain-programs: $(PROGRAMS)

# Files that hold what the outputs were made with; they change only when that does.
stamp = @mkdir -p $(@D); printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(1))' >$@
$(OUT)/flags.c: FORCE
	$(call stamp,$(CC) $(ALL_CPPFLAGS) $(DEFINES) $(ALL_CFLAGS))
$(OUT)/flags.cu: FORCE
	$(call stamp,$(if $(filter host,$(DEVICE)),$(CXX) $(ALL_CXXFLAGS),$(NVCC) $(NVCCFLAGS)) $(ALL_CPPFLAGS))
$(OUT)/flags.link: FORCE
	$(call stamp,$(CC) $(SAN) $(ALL_LDFLAGS) $(LIB_LDLIBS) $(RANKS_LDLIBS) $(DEVICE_LDLIBS) $(LIB_OBJ) $(RANKS_OBJ) $(HOSTCUDA_OBJ) $(KERNEL_OBJ) $(LLAMA_OBJ) $(FAULTY_OBJ) $(TEST_SUPPORT_OBJ) $(FUZZ_OBJ) $(COMMAND_OBJ) $(TEST_KERNEL_OBJ))

# What was found, said once. gcc's -dumpversion alone may leave out the minor version; a compiler may not know the other.
versioned = $(1) $(or $(firstword $(shell $(1) -dumpfullversion -dumpversion 2>/dev/null || $(1) -dumpversion 2>/dev/null)),does not run)
COMPILERS = $(call versioned,$(CC))$(if $(filter host,$(DEVICE)),$(comma) $(call versioned,$(CXX)))$(if $(strip $(ABSENT)), (not installed: $(strip $(ABSENT))))
define FOUND
breakgraph $(VERSION), DEVICE=$(DEVICE), in $(OUT)
$(if $(findstring does not run,$(COMPILERS)),✗,✓) $(COMPILERS)
✓ CUDA $(if $(filter $(abspath $(FETCHED))/%,$(abspath $(CUDA_HOME))),headers $(CUDA_VERSION) from the Python index$(comma),toolkit $(CUDA_VERSION)) in $(CUDA_HOME)
$(GPU_SAID)
endef
ifneq ($(GPU_FOUND),)
GPU_SAID = ✓ GPU: $(subst _, ,$(word 1,$(GPU_PARTS))), driver for CUDA $(word 3,$(GPU_PARTS))
else ifneq ($(GPU),)
GPU_SAID = ✗ GPU: $(GPU)$(if $(filter host,$(DEVICE)),; host device,; what is built here starts and says so)
else
GPU_SAID := ✗ GPU: not looked for, since DEVICE=host is given
endif
$(OUT)/found.device: $(OUT)/flags.c
	@mkdir -p $(@D)
	$(if $(SILENT),,$(info $(FOUND)))@touch $@
$(OUT)/found.%: tools/packages $(OUT)/found.device
	@$(foreach name,CC CPPFLAGS CFLAGS LDFLAGS,$(name)='$(subst ','\'',$($(name)))') CXX='$(if $(filter host,$(DEVICE)),$(CXX))' tools/packages $(if $(SILENT),-q) $(PACKAGES)
	@touch $@

$(OUT)/%.o: %.c $(OUT)/flags.c | $(READY)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CPPFLAGS) $(DEFINES) $(ALL_CFLAGS) -MMD -MP -c $< -o $@
$(OUT)/faults/%.o: %.c $(OUT)/flags.c | $(READY)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CPPFLAGS) $(DEFINES) -DLLAMA_FAULTS $(ALL_CFLAGS) -MMD -MP -c $< -o $@
$(OUT)/%.o: %.cpp $(OUT)/flags.cu | $(READY)
	@mkdir -p $(@D)
	$(call say,CXX)$(CXX) $(ALL_CPPFLAGS) $(DEFINES) $(ALL_CXXFLAGS) -MMD -MP -c $< -o $@
$(OUT)/%.o: %.S $(OUT)/flags.c | $(READY)
	@mkdir -p $(@D)
	$(call say,AS)$(CC) $(ALL_CPPFLAGS) -fPIC -MMD -MP -c $< -o $@
$(OUT)/%.cu.o: %.cu $(OUT)/flags.cu $(HOSTCUDA_CC) | $(READY)
	@mkdir -p $(@D)
ifeq ($(DEVICE),host)
	$(call say,HCC)$(HOSTCUDA_CC) -ccbin $(CXX) $(ALL_CPPFLAGS) $(ALL_CXXFLAGS) -MMD -MP -c $< -o $@
else
	$(call say,NVCC)$(NVCC) $(ALL_CPPFLAGS) $(NVCCFLAGS) -MMD -MP -c $< -o $@
endif
# As a compiler alone compiles kernels: the host device reads what they take from their names.
ifeq ($(DEVICE),host)
$(OUT)/tests/support/kernels/address_kernels.cu.o: tests/support/kernels/address_kernels.cu $(OUT)/flags.cu | $(READY)
	@mkdir -p $(@D)
	$(call say,CXX)$(CXX) $(ALL_CPPFLAGS) -x c++ -include hostcuda/include/hostcuda/kernel_shim.h -ffp-contract=off $(ALL_CXXFLAGS) -MMD -MP -c $< -o $@
endif
# Where hostcuda-cc finds what it needs, in this tree; mk/install.mk has the places of an installed one.
hostcuda_cc_places = -DHOSTCUDA_CC_COMPILER='"$(CXX)"' -DHOSTCUDA_CC_INCLUDE='"$(1)"' -DHOSTCUDA_CC_CUDA='"$(2)"' -DHOSTCUDA_CC_LIBRARY='"$(3)"'
# From the folder that it is in, so that a tree can be copied with what was built in it.
out_elsewhere = $(filter /%,$(OUT))$(filter . ..,$(subst /, ,$(OUT)))$(filter-out $(abspath $(OUT)),$(realpath $(OUT)))
from_out = $(if $(out_elsewhere),$(CURDIR)/$(1),$(subst $() ,,$(patsubst %,../,$(subst /, ,$(OUT))))$(1))
$(HOSTCUDA_CC_OBJ): private DEFINES += $(call hostcuda_cc_places,$(call from_out,hostcuda/include),$(abspath $(CUDA_HOME))/include,.)
$(HOSTCUDA_CC): $(HOSTCUDA_CC_OBJ) $(OUT)/flags.link
	$(call say,LINK)$(CC) $(SAN) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^)
# CUDA's headers carry no visibility: the host device exports all that is not static.
$(HOSTCUDA_OBJ): ALL_CFLAGS += -fvisibility=default

# Tests are compiled more often than they run.
$(UNIT:=.o): private ALL_CFLAGS += $(if $(SAN),,-O0 -g1)
$(OUT)/tests/%.cu.o: private ALL_CXXFLAGS += $(if $(SAN),,-O1 -g1)

# The page of a report lies in the library as lines of C.
$(OUT)/debug/report/page_lines.inc: debug/report/page.html
	@mkdir -p $(@D)
	$(call say,PAGE)sed -e 's/[\\"?]/\\&/g' -e 's/.*/"&\\n",/' $< >$@
$(OUT)/debug/report/page.o: $(OUT)/debug/report/page_lines.inc
$(OUT)/debug/report/page.o: private ALL_CPPFLAGS += -I$(OUT)

$(OUT)/libbreakgraph.a $(OUT)/libbreakgraph.so: $(LIB_OBJ)
$(OUT)/libbreakgraph_nccl.a $(OUT)/libbreakgraph_nccl.so: $(RANKS_OBJ)
$(OUT)/libhostcuda.a $(OUT)/libhostcuda.so: $(HOSTCUDA_OBJ)
$(OUT)/libbreakgraph_kernels.a: $(KERNEL_OBJ)
$(OUT)/libllama.a: $(LLAMA_OBJ)
$(OUT)/libllama_faults.a: $(FAULTY_OBJ)
$(OUT)/libtest_support.a: $(TEST_SUPPORT_OBJ)
$(OUT)/libcommand.a: $(filter-out %/cli/main.o,$(COMMAND_OBJ))
$(OUT)/libtest_kernels.a: $(TEST_KERNEL_OBJ)
$(OUT)/%.a: $(OUT)/flags.link | $(READY)
	$(call say,AR)rm -f $@ && ar rcs $@ $(filter %.o,$^)
$(OUT)/tests/cli/command/nvtx_recorder.so: $(OUT)/tests/cli/command/nvtx_recorder.o
$(OUT)/libbreakgraph.so: $(DEVICE_SO)
# Threads that end call into the library: it stays loaded.
$(OUT)/libbreakgraph.so: SHARED = $(LIB_LDLIBS) $(SO_LINK) -Wl,-z,nodelete
$(OUT)/libbreakgraph_nccl.so: $(OUT)/libbreakgraph.so
# Its threads may outlive the last call into it.
$(OUT)/libbreakgraph_nccl.so: SHARED = -L$(OUT) -lbreakgraph $(RANKS_LDLIBS) $(SO_LINK) $(if $(filter cuda,$(DEVICE)),-lnccl) -Wl,-z,nodelete
$(OUT)/libhostcuda.so: SHARED = -lopenblas -lstdc++ -Wl,-z,nodelete -Wl,-Bsymbolic -Wl,--version-script=hostcuda/src/exports.map
$(OUT)/libhostcuda.so: hostcuda/src/exports.map
$(OUT)/%.so: $(OUT)/flags.link
	$(call say,LINK)$(CC) -shared -Wl,-soname,$(@F).$(SOVERSION) $(if $(SAN),$(SAN),-Wl,-z,defs) -o $@ $(filter %.o,$^) $(ALL_LDFLAGS) $(SHARED) -lm -lpthread
	@ln -sf $(@F) $@.$(SOVERSION)

EXAMPLE_LIBS := $(OUT)/libllama.a $(RANKS_LIB) $(OUT)/libbreakgraph.a $(OUT)/libbreakgraph_kernels.a $(DEVICE_LIB)
TEST_LIBS := $(OUT)/libtest_support.a $(OUT)/libtest_kernels.a $(EXAMPLE_LIBS)
# Two hundred programs are linked with what they test: by the quickest linker that is there and finds C++'s library.
links = $(shell printf 'int main(void){return 0;}' | $(CC) -fuse-ld=$(1) -x c - -o /dev/null -lstdc++ 2>/dev/null && echo -fuse-ld=$(1))
QUICK_LD := $(if $(filter host,$(if $(BUILDS),$(DEVICE))),$(or $(call links,lld),$(call links,gold)))
quick = $(if $(filter $(addprefix $(OUT)/,tests/% shared/% attached/%),$@),$(QUICK_LD))
link = $(call say,LINK)$(CC) -pthread $(quick) $(SAN) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIB_LDLIBS) $(RANKS_LDLIBS) $(DEVICE_LDLIBS) -lm -lpthread
$(COMMAND): $(COMMAND_OBJ) $(OUT)/libbreakgraph.a $(DEVICE_LIB) $(OUT)/flags.link
	$(link)
# Over the shared host device, so that --attach enters them.
SHARED_LIBS := $(filter-out $(DEVICE_LIB),$(EXAMPLE_LIBS)) $(DEVICE_SO)
LINK_DEVICE := $(if $(DEVICE_SO),-L$(OUT) -lhostcuda -Wl$(comma)-rpath$(comma)$(abspath $(OUT)))
$(OUT)/examples/llama/llama: $(OUT)/examples/llama/main.o $(SHARED_LIBS) $(OUT)/flags.link
	$(link) $(LINK_DEVICE)
# Knows nothing of breakgraph.
$(OUT)/examples/hostcuda/missing_join: $(OUT)/examples/hostcuda/missing_join.o $(OUT)/examples/hostcuda/squares.cu.o $(DEVICE_SO) $(OUT)/flags.link
	$(link) $(LINK_DEVICE)
$(OUT)/examples/%: $(OUT)/examples/%.o $(SHARED_LIBS) $(OUT)/flags.link
	$(link) $(LINK_DEVICE)
$(BENCH): $(call objects,$(filter-out tests/bench/comm/%,$(call find,tests/bench,c))) $(EXAMPLE_LIBS) $(OUT)/flags.link
	$(link)
$(RANKS_BENCH): $(call objects,$(call find,tests/bench/comm,c) tests/bench/harness.c tests/bench/report.c tests/bench/decoder.c tests/support/ranks/fork_ranks.c) $(EXAMPLE_LIBS) $(OUT)/flags.link
	$(link)
$(RANDOM): $(RANDOM_OBJ)
$(OUT)/tests/soak/soak_ranks: $(OUT)/tests/soak/rank.o
faulty = $(patsubst %/libllama.a,%/libllama_faults.a,$(1))
$(addprefix $(OUT)/,$(call unit,llama_faults llama_bisect)): %: %.o $(call faulty,$(TEST_LIBS)) $(OUT)/flags.link
	$(link) -lcmocka
$(OUT)/tests/cli/llama_faults: $(OUT)/faults/examples/llama/main.o $(call faulty,$(EXAMPLE_LIBS)) $(OUT)/flags.link
	@mkdir -p $(@D)
	$(link)
$(OUT)/shared/llama_faults: $(OUT)/faults/examples/llama/main.o $(OUT)/tests/cli/attach/programs/no_variables.o $(filter-out $(DEVICE_LIB),$(call faulty,$(EXAMPLE_LIBS))) $(DEVICE_SO) $(OUT)/flags.link
	@mkdir -p $(@D)
	$(link) $(LINK_DEVICE) -Wl,--wrap=getenv
$(OUT)/shared/%: $(OUT)/%.o $(filter-out $(DEVICE_LIB),$(TEST_LIBS)) $(DEVICE_SO) $(OUT)/flags.link
	@mkdir -p $(@D)
	$(link) -lcmocka $(LINK_DEVICE)
$(FUZZ): %: %.o $(FUZZ_OBJ) $(OUT)/libcommand.a $(EXAMPLE_LIBS) $(OUT)/flags.link
	$(link) $(if $(findstring fuzzer,$(SAN)),-fsanitize=fuzzer)
$(OUT)/tools/variables: $(OUT)/tools/variables.o $(OUT)/src/base/variables.o $(OUT)/src/base/nearest.o $(OUT)/src/base/number.o $(OUT)/flags.link
	$(link)
# Each function keeps its frame, so that a stack says where in the source a launch is.
$(addsuffix .o,$(ZOO_OPS) $(ZOO_PLAIN)): private ALL_CFLAGS += -O0
ZOO_OBJ := $(OUT)/tests/zoo/zoo.o $(OUT)/tests/zoo/zoo_kernels.cu.o
$(ZOO_OPS): %: %.o $(ZOO_OBJ) $(EXAMPLE_LIBS) $(OUT)/flags.link
	$(link)
$(ZOO_ATTACHED): $(OUT)/attached/%: $(OUT)/%.o $(ZOO_OBJ) $(OUT)/tests/cli/attach/programs/no_variables.o $(SHARED_LIBS) $(OUT)/flags.link
	@mkdir -p $(@D)
	$(link) $(LINK_DEVICE) -Wl,--wrap=getenv
$(ZOO_PLAIN): %: %.o $(ZOO_OBJ) $(DEVICE_SO) $(OUT)/flags.link
	$(link) $(LINK_DEVICE)
$(OUT)/tests/programs/launch_forms.cu.o: private NVCCFLAGS += --extended-lambda
$(PROGRAMS): %: %.cu.o $(DEVICE_SO) $(OUT)/flags.link
	$(link) $(LINK_DEVICE)
$(OUT)/tests/zoo/findings: %: %.o $(OUT)/flags.link
	$(link)
$(OUT)/tests/%: $(OUT)/tests/%.o $(TEST_LIBS) $(OUT)/flags.link
	$(link) -lcmocka

-include $(shell [ ! -d $(OUT) ] || find $(OUT) -name '*.d')
include mk/attach.mk mk/install.mk mk/wheel.mk mk/check.mk
