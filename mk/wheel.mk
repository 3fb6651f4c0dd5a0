# make wheel: for pip, the command, the libraries, what enters unmodified programs, and breakgraph.py. What is in it is linked
# anew, so that it needs libc alone; the driver is opened when it is used. packaging/wheel holds it to that.
.PHONY: wheel wheel-tree wheel-files
WHEEL := $(OUT)/wheel
WHEEL_DIR ?= $(OUT)
# What pip puts below the prefix of a virtual environment.
TREE := $(WHEEL)/tree
TREE_LIB := $(TREE)/lib
# Debian's package of cJSON has no archive: then the library itself is in the wheel.
TREE_CJSON := $(if $(CJSON_STATIC),,$(TREE_LIB)/breakgraph/libcjson.so.1)

# The library's kernels, for every GPU that the toolkit knows: the driver compiles them from those of the oldest.
WHEEL_ARCH := 75
WHEEL_OBJ := $(if $(filter host,$(DEVICE)),$(LIB_OBJ),$(patsubst $(OUT)/%.cu.o,$(WHEEL)/%.cu.o,$(LIB_OBJ)))
$(WHEEL)/%.cu.o: %.cu $(OUT)/flags.cu mk/wheel.mk | $(READY)
	@mkdir -p $(@D)
	$(call say,NVCC)$(NVCC) $(ALL_CPPFLAGS) $(subst _$(CUDA_ARCH),_$(WHEEL_ARCH),$(filter-out -lineinfo,$(NVCCFLAGS))) -MMD -MP -c $< -o $@

WHEEL_LDLIBS := $(or $(CJSON_STATIC),-lcjson) $(if $(filter cuda,$(DEVICE)),-L$(CUDA_LIB) -lcudart_static -ldl -lrt) -static-libgcc -l:libstdc++.a -lm -lpthread
WHEEL_SHARED := -shared -Wl,-z,defs -Wl,-z,nodelete
# Flags, folders of other libraries as seen from this file, libraries.
define link_wheel
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -pthread $(1) -Wl,-S -Wl,--enable-new-dtags -Wl,-rpath,'$(2)' -o $@ $(filter %.o,$^) $(filter %.a,$^) $(filter %.so %.so.$(SOVERSION),$^) $(ALL_LDFLAGS) $(3)
endef

# Archives that the wheel's files have in them, and that a machine may lack.
WHEEL_ARCHIVES := libstdc++.a $(if $(filter host,$(DEVICE)),libopenblas.a)
WHEEL_MISSING := $(if $(BUILDS),$(strip $(foreach name,$(WHEEL_ARCHIVES),$(if $(filter /%,$(shell $(CC) $(LDFLAGS) -print-file-name=$(name))),,$(name)))))
$(WHEEL)/flags.link: FORCE $(OUT)/flags.link | $(READY)
	$(if $(SAN),@echo "make wheel: sanitizers cannot be preloaded into programs; leave out SAN" >&2; exit 1)
	$(if $(WHEEL_MISSING),@echo "make wheel: $(CC) does not find $(WHEEL_MISSING)$(comma) to be linked into the wheel; install the package that has it" >&2; exit 1)
	$(call stamp,$(WHEEL_LDLIBS))

ifeq ($(DEVICE),host)
TREE_HOSTCUDA := $(TREE_LIB)/libhostcuda.so.$(SOVERSION)
# A library of its own: at the end of a process OpenBLAS's destructor must run after the host device's.
TREE_BLAS := $(TREE_LIB)/breakgraph/libhostcuda_blas.so
BLAS_CALLS = cblas_sgemm cblas_dgemm cblas_sgemv
$(TREE_BLAS): $(WHEEL)/flags.link
	@mkdir -p $(@D)
	@printf '{ global: %s local: *; };\n' '$(BLAS_CALLS:=;)' >$(WHEEL)/blas.map
	$(call link_wheel,$(WHEEL_SHARED) -Wl$(comma)-soname$(comma)$(@F) $(addprefix -Wl$(comma)-u$(comma),$(BLAS_CALLS)) -Wl$(comma)--version-script=$(WHEEL)/blas.map,$$ORIGIN,-l:libopenblas.a -lm)
$(TREE_HOSTCUDA): $(HOSTCUDA_OBJ) $(TREE_BLAS) hostcuda/src/exports.map $(WHEEL)/flags.link
	$(call link_wheel,$(WHEEL_SHARED) -Wl$(comma)-soname$(comma)$(@F) -Wl$(comma)-Bsymbolic -Wl$(comma)--version-script=hostcuda/src/exports.map,$$ORIGIN/breakgraph,-static-libgcc -l:libstdc++.a -lm)
endif

$(TREE_CJSON): $(WHEEL)/flags.link
	@mkdir -p $(@D)
	$(call say,COPY)cp -L "$$($(CC) $(LDFLAGS) -print-file-name=libcjson.so.1)" $@ && chmod 755 $@
$(TREE_LIB)/libbreakgraph.a: $(WHEEL_OBJ) $(WHEEL)/flags.link
	@mkdir -p $(@D)
	$(call say,AR)rm -f $@ && ar rcs $@ $(filter %.o,$^) && strip -g $@
$(TREE_LIB)/libbreakgraph.so.$(SOVERSION): $(WHEEL_OBJ) $(TREE_HOSTCUDA) $(TREE_CJSON) $(WHEEL)/flags.link
	$(call link_wheel,$(WHEEL_SHARED) -Wl$(comma)-soname$(comma)$(@F) -Wl$(comma)--exclude-libs$(comma)ALL,$$ORIGIN:$$ORIGIN/breakgraph,$(WHEEL_LDLIBS))
$(TREE)/bin/breakgraph: $(COMMAND_OBJ) $(TREE_LIB)/libbreakgraph.a $(DEVICE_LIB) $(TREE_BLAS) $(TREE_CJSON) $(WHEEL)/flags.link
	$(call link_wheel,,$$ORIGIN/../lib/breakgraph,$(WHEEL_LDLIBS))
$(TREE_LIB)/breakgraph/libbreakgraph_tools.so: $(TOOLS_OBJ) $(WHEEL_OBJ) $(TREE_HOSTCUDA) $(TREE_CJSON) $(WHEEL)/flags.link debug/attach/tools.map
	$(call link_wheel,$(WHEEL_SHARED) -Wl$(comma)--version-script=debug/attach/tools.map,$$ORIGIN:$$ORIGIN/..,$(WHEEL_LDLIBS))
ifeq ($(DEVICE),host)
$(eval $(call hostcuda_cc_elsewhere,$(WHEEL),../include,../include/hostcuda/cuda,../lib))
TREE_CC := $(TREE)/bin/hostcuda-cc
$(TREE_CC): $(WHEEL)/cc_main.o $(filter-out %/main.o,$(HOSTCUDA_CC_OBJ)) $(WHEEL)/flags.link
	$(call link_wheel,,,)
endif
$(TREE_LIB)/breakgraph/%.so: $(OUT)/attach/%.so $(WHEEL)/flags.link
	@mkdir -p $(@D)
	$(call say,STRIP)strip -g -o $@ $<

# Without comm.h, whose library needs NCCL and OpenSSL.
WHEEL_HEADERS := $(filter-out %/comm.h,$(wildcard include/breakgraph/*.h))
WHEEL_FILES := $(TREE)/bin/breakgraph $(TREE_CC) $(TREE_LIB)/libbreakgraph.a $(TREE_LIB)/libbreakgraph.so.$(SOVERSION) $(TREE_HOSTCUDA) $(TREE_BLAS) $(TREE_CJSON) \
  $(patsubst $(OUT)/attach/%,$(TREE_LIB)/breakgraph/%,$(ATTACH))
wheel-files: $(WHEEL_FILES)
wheel-tree: $(WHEEL_FILES)

# Of what the wheel's files have in them: cJSON, and OpenBLAS.
NOTICES = $(wildcard $(addprefix /usr/share/doc/,libcjson-dev/copyright $(if $(filter host,$(DEVICE)),libopenblas-dev/copyright)))
# Places below the prefix are found from that of the file itself. CUDA's headers and runtime are the program's own.
fill_wheel = $(call fill,$${pcfiledir}/../..,$${prefix}/lib,$${prefix}/include,,-Wl$(comma)-rpath$(comma)"$${libdir}",,$(if $(HOSTCUDA_CC),$${prefix}/bin/hostcuda-cc,nvcc))
wheel: wheel-tree
	@command -v python3 >/dev/null || { echo "make wheel: python3 is missing; install it (Debian: python3)" >&2; exit 1; }
	@rm -rf $(TREE)/include $(TREE)/share $(filter-out $(WHEEL_FILES) $(TREE_LIB)/breakgraph,$(wildcard $(addsuffix /*,$(TREE)/bin $(TREE_LIB) $(TREE_LIB)/breakgraph)))
	@install -d $(TREE)/include/breakgraph $(TREE)/share/man/man1 $(TREE_LIB)/pkgconfig
	@install -m 644 $(WHEEL_HEADERS) $(TREE)/include/breakgraph
	@install -m 644 packaging/breakgraph.1 $(TREE)/share/man/man1
	@install -m 644 python/breakgraph.py $(TREE_LIB)/breakgraph
	$(if $(filter host,$(DEVICE)),@install -d $(TREE)/include/hostcuda && install -m 644 $(SHIM_HEADERS) $(TREE)/include/hostcuda && umask 022 && $(call put_cub,$(TREE)/include))
	@for name in breakgraph $(if $(filter host,$(DEVICE)),hostcuda); do \
	  printf 'INPUT(lib%s.so.$(SOVERSION))\n' $$name >$(TREE_LIB)/lib$$name.so && \
	  $(fill_wheel) -e '/^cudalib=/d' -e 's/ -lopenblas//' packaging/$$name.pc.in >$(TREE_LIB)/pkgconfig/$$name.pc || exit 1; done
	@mkdir -p '$(WHEEL_DIR)'
	@packaging/wheel --version $(VERSION)$(if $(filter host,$(DEVICE)),+host) --module python/breakgraph.py --readme README.md --license LICENSE $(NOTICES) --to '$(WHEEL_DIR)' $(TREE)
