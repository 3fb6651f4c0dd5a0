# breakgraph: see `make help`.
VERSION := 0.1.0
CUDA_HOME ?= /usr/local/cuda
BUILD ?= build
DEVICE ?= host
OUT := $(BUILD)/$(DEVICE)
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' '$(1)' '$(patsubst $(OUT)/%,%,$@)';)

CC ?= gcc
CXX ?= g++
NVCC ?= $(CUDA_HOME)/bin/nvcc
CUDA_ARCH ?= 90
WARN := -Wall -Wextra -Wpedantic -Werror
OPT ?= -O2 -g
SAN ?=
CPPFLAGS += -Iinclude -Isrc -Ikernels -isystem $(CUDA_HOME)/include -D_GNU_SOURCE -DBG_VERSION='"$(VERSION)"' -DBG_DEVICE_KIND='"$(DEVICE)"'
CFLAGS += -std=c11 $(OPT) $(WARN) -fPIC -fvisibility=hidden -pthread $(SAN)
LDLIBS += -lm -lpthread

all:

.PHONY: all test clean
.SECONDARY:

# ---- sources -------------------------------------------------------------------------------------
LIB_OBJ := $(patsubst %.c,$(OUT)/%.o,$(wildcard src/base/*.c src/op/*.c src/capture/*.c))
HOSTCUDA_OBJ := $(patsubst %.c,$(OUT)/%.o,$(wildcard src/hostcuda/*.c))
KERNEL_OBJ := $(patsubst %.cu,$(OUT)/%.cu.o,$(wildcard kernels/*.cu))
TEST_KERNEL_OBJ := $(patsubst %.cu,$(OUT)/%.cu.o,$(wildcard tests/unit/*.cu tests/conformance/*.cu tests/bench/*.cu))
LLAMA_OBJ := $(patsubst %.c,$(OUT)/%.o,$(filter-out examples/llama/main.c,$(wildcard examples/llama/*.c)))
TESTS := $(patsubst %.c,$(OUT)/%,$(wildcard tests/unit/test_*.c tests/conformance/test_*.c))
TEST_SUPPORT_OBJ := $(patsubst %.c,$(OUT)/%.o,$(filter-out tests/unit/test_%.c,$(wildcard tests/unit/*.c)))

ifeq ($(DEVICE),host)
DEVICE_LIB := $(OUT)/libhostcuda.a
DEVICE_LINK := $(DEVICE_LIB) -lopenblas
else
DEVICE_LIB :=
DEVICE_LINK := -L$(CUDA_HOME)/lib64 -Wl,-rpath,$(CUDA_HOME)/lib64 -lcublas -lcudart
endif

# ---- rules ---------------------------------------------------------------------------------------
$(OUT)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@
ifeq ($(DEVICE),host)
$(OUT)/%.cu.o: %.cu
	@mkdir -p $(@D)
	$(call say,CXX)$(CXX) -x c++ $(CPPFLAGS) -include src/hostcuda/kernel_shim.h -std=c++17 $(OPT) -ffp-contract=off -Wall -Wextra -Werror -fPIC -pthread $(SAN) -MMD -MP -c $< -o $@
else
$(OUT)/%.cu.o: %.cu
	@mkdir -p $(@D)
	$(call say,NVCC)$(NVCC) $(CPPFLAGS:-isystem=-I) -std=c++17 -O2 -lineinfo -arch=sm_$(CUDA_ARCH) -Xcompiler -fPIC,-Wall,-Wextra -MMD -MP -c $< -o $@
endif
$(OUT)/libbreakgraph.a: $(LIB_OBJ)
$(OUT)/libhostcuda.a: $(HOSTCUDA_OBJ)
$(OUT)/libbreakgraph_kernels.a: $(KERNEL_OBJ)
$(OUT)/libtest_kernels.a: $(TEST_KERNEL_OBJ)
$(OUT)/libllama.a: $(LLAMA_OBJ)
$(OUT)/libtest_support.a: $(TEST_SUPPORT_OBJ)
$(OUT)/%.a:
	@mkdir -p $(@D)
	$(call say,AR)rm -f $@ && ar rcs $@ $^

PROGRAM_LIBS = $(OUT)/libllama.a $(OUT)/libtest_support.a $(OUT)/libbreakgraph.a $(OUT)/libtest_kernels.a $(OUT)/libbreakgraph_kernels.a $(DEVICE_LIB)
PROGRAM_LINK = $(PROGRAM_LIBS) $(DEVICE_LINK) $(LDLIBS) -lstdc++
$(OUT)/tests/%: $(OUT)/tests/%.o $(PROGRAM_LIBS)
	$(call say,LINK)$(CC) $(CFLAGS) -o $@ $< $(PROGRAM_LINK) -lcmocka
$(OUT)/examples/llama/llama: $(OUT)/examples/llama/main.o $(PROGRAM_LIBS)
	$(call say,LINK)$(CC) $(CFLAGS) -o $@ $< $(PROGRAM_LINK)
$(OUT)/examples/quickstart: $(OUT)/examples/quickstart.o $(PROGRAM_LIBS)
	$(call say,LINK)$(CC) $(CFLAGS) -o $@ $< $(PROGRAM_LINK)

all: $(OUT)/libbreakgraph.a $(OUT)/examples/quickstart $(OUT)/examples/llama/llama
tests: $(TESTS)
test: $(TESTS)
	@for t in $(TESTS); do ./$$t || exit 1; done
clean:
	rm -rf $(BUILD)

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
