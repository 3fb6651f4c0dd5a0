# The examples, built against the installed library into the folder where make runs, which need not be this one:
#   make -f /usr/local/share/doc/breakgraph/examples/Makefile
# Where pkg-config does not find breakgraph, PKG_CONFIG_PATH names its folder. With the host device it needs no nvcc and no GPU.
TOP := $(patsubst %/examples/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
PKG_CONFIG ?= pkg-config
PACKAGE := $(shell $(PKG_CONFIG) --exists breakgraph_nccl && echo breakgraph_nccl || echo breakgraph)
DEVICE := $(shell $(PKG_CONFIG) --variable=device breakgraph)
ifeq ($(DEVICE),)
$(error pkg-config does not find breakgraph; set PKG_CONFIG_PATH to LIBDIR/pkgconfig of the installation)
endif
CFLAGS ?= -O2 -g
CXXFLAGS ?= -O2 -g
FLAGS := -I$(TOP) $(shell $(PKG_CONFIG) --cflags $(PACKAGE)) $(if $(filter %_nccl,$(PACKAGE)),-DBG_NCCL) -D_GNU_SOURCE
LIBS := $(shell $(PKG_CONFIG) --libs $(PACKAGE)) $(if $(filter cuda,$(DEVICE)),-lcublas $(if $(filter %_nccl,$(PACKAGE)),-lnccl)) -lstdc++ -lm -lpthread
# nvcc, or hostcuda-cc, which needs no nvcc
CUDACC ?= $(shell $(PKG_CONFIG) --variable=cudacc breakgraph)

KERNELS := $(patsubst $(TOP)/%.cu,%.cu.o,$(wildcard $(TOP)/kernels/model/*.cu))
LLAMA := $(patsubst $(TOP)/%.c,%.o,$(wildcard $(TOP)/examples/llama/*.c $(TOP)/examples/llama/*/*.c))
PROGRAMS := $(patsubst $(TOP)/%,%,$(basename $(wildcard $(addprefix $(TOP)/examples/,*.c *.cpp graphs/*.c adopt/*.c runner/*.c)))) examples/hostcuda/missing_join examples/llama/llama

all: $(PROGRAMS)
.PHONY: all
.SECONDARY:
examples/hostcuda/missing_join: examples/hostcuda/missing_join.o examples/hostcuda/squares.cu.o
examples/llama/llama: $(LLAMA) $(KERNELS)
$(filter-out %/missing_join %/llama,$(PROGRAMS)): %: %.o $(KERNELS)
$(PROGRAMS):
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
vpath %.c $(TOP)
vpath %.cpp $(TOP)
vpath %.cu $(TOP)
%.o: %.c
	@mkdir -p $(@D)
	$(CC) -std=c11 $(CFLAGS) $(FLAGS) -c $< -o $@
%.o: %.cpp
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(CXXFLAGS) $(FLAGS) -c $< -o $@
%.cu.o: %.cu
	@mkdir -p $(@D)
	$(CUDACC) -ccbin $(CXX) -std=c++17 -O2 $(subst -isystem,-I,$(FLAGS)) -c $< -o $@
