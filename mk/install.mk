# make install: libraries, headers, the command, manual pages, completions, docs, examples, pkg-config files and a CMake package.
.PHONY: install
SHIM_HEADERS := $(wildcard hostcuda/include/hostcuda/*.h)
# Those of cub's interface have folders of their own.
CUB_HEADERS := $(patsubst hostcuda/include/%,%,$(call find,hostcuda/include/hostcuda/cub,cuh))
# Where: the folder of the headers.
put_cub = for file in $(CUB_HEADERS); do install -D -m 644 "hostcuda/include/$$file" $(1)/"$$file" || exit 1; done
INSTALLED := breakgraph $(if $(RANKS_OBJ),breakgraph_nccl) $(if $(filter host,$(DEVICE)),hostcuda)
# The files that are installed must say where, also to programs that run elsewhere.
absolute = $(if $(filter-out /%,$(firstword $(1))),$(CURDIR)/$(1),$(1))
$(foreach dir,PREFIX LIBDIR INCLUDEDIR BINDIR MANDIR DOCDIR,$(eval override $(dir) := $$(call absolute,$$($(dir)))))
# Where the loader looks by itself. A program that is linked with a library elsewhere gets a run path: it needs no ldconfig.
SYSTEM_LIBDIRS := /lib /lib64 /usr/lib /usr/lib64 /usr/lib/%-linux-gnu
run_path = $(if $(filter $(SYSTEM_LIBDIRS),$(1)),,-Wl$(comma)-rpath$(comma)"$${libdir}")
# Headers that make fetched into BUILD do not stay there: they are installed, too.
CUDA_FETCHED = $(filter $(abspath $(BUILD))/%,$(abspath $(CUDA_HOME)))
CUDA_INCLUDE = $(if $(CUDA_FETCHED),$(INCLUDEDIR)/hostcuda/cuda,$(abspath $(CUDA_HOME))/include)

# As the replacement of a sed expression.
escape = $(subst |,\|,$(subst &,\&,$(subst \,\\,$(1))))
# A folder as hostcuda-cc finds it from the one that it is in; "..", where both are below PREFIX.
from_bin = $(if $(filter $(PREFIX)/bin,$(BINDIR)),$(subst $(PREFIX)/,../,$(1)),$(1))
# What knows the places, once more for each: $(1) is the folder of the objects, then as for hostcuda_cc_places.
define hostcuda_cc_elsewhere
$(1)/flags.places: FORCE
	$$(call stamp,$(call hostcuda_cc_places,$(2),$(3),$(4)))
$(1)/cc_main.o: hostcuda/cc/main.c $(1)/flags.places $(OUT)/flags.c | $$(READY)
	$$(call say,CC)$(CC) $$(ALL_CPPFLAGS) $$(DEFINES) $(call hostcuda_cc_places,$(2),$(3),$(4)) $$(ALL_CFLAGS) -MMD -MP -c $$< -o $$@
endef
ifneq ($(HOSTCUDA_CC),)
$(eval $(call hostcuda_cc_elsewhere,$(OUT)/installed,$(call from_bin,$(INCLUDEDIR)),$(call from_bin,$(CUDA_INCLUDE)),$(call from_bin,$(LIBDIR))))
endif
$(OUT)/installed/hostcuda-cc: $(OUT)/installed/cc_main.o $(filter-out %/main.o,$(HOSTCUDA_CC_OBJ)) $(OUT)/flags.link
	$(call say,LINK)$(CC) $(SAN) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^)

# A template with these: prefix, folders of libraries and headers, flags of CUDA's headers, run path, flags of CUDA's
# runtime, compiler of kernels.
fill = sed -e 's|@PREFIX@|$(call escape,$(1))|g' -e 's|@LIBDIR@|$(call escape,$(2))|g' -e 's|@CUDACC@|$(call escape,$(7))|g' -e 's|@INCLUDEDIR@|$(call escape,$(3))|g' \
  -e 's|@CUDA_CFLAGS@|$(call escape,$(4))|g' -e 's|@RUN_PATH@|$(call escape,$(5))|g' -e 's|@DEVICE_LIBS@|$(call escape,$(6))|g' \
  -e 's|@VERSION@|$(VERSION)|g' -e 's|@CUDA_MAJOR@|$(firstword $(subst ., ,$(CUDA_VERSION)))|g' -e 's|@DEVICE@|$(DEVICE)|g' -e 's|@CUDA_INCLUDE@|$(call escape,$(CUDA_INCLUDE))|g' -e 's|@CUDA_LIB@|$(CUDA_LIB)|g' \
  -e 's|@REQUIRES@|$(if $(filter host,$(DEVICE)),hostcuda)|g' \
  -e 's|@NCCL_TARGET@|$(if $(filter cuda,$(DEVICE)),nccl)|g' -e 's|@NCCL_LIBS@|$(if $(filter cuda,$(DEVICE)),-lnccl)|g'
# pkg-config knows no path with a blank after -isystem.
fill_installed = $(call fill,$(PREFIX),$(LIBDIR),$(INCLUDEDIR),$(if $(word 2,$(CUDA_INCLUDE)),-I,-isystem )"$(CUDA_INCLUDE)",$(call run_path,$(LIBDIR)),$(if $(filter cuda,$(DEVICE)),-L$(CUDA_LIB) -Wl$(comma)-rpath$(comma)$(CUDA_LIB) -lcudart),$(if $(HOSTCUDA_CC),$(BINDIR)/hostcuda-cc,$(NVCC)))
to = '$(DESTDIR)$(1)'
# A list of files, each below a folder as here.
put = @for file in $(1); do install -D -m 644 "$$file" $(call to,$(2))/"$$file" || exit 1; done
DOCS := README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE $(call find,docs,md png)
# With the kernels that they launch.
EXAMPLE_FILES := $(filter-out examples/llama/faults/%.c %.cu,$(call find,examples,c cpp h py)) $(call find,examples/hostcuda examples/cmake,cu txt) $(wildcard kernels/*.h) $(call find,kernels/model,h cu)

install: $(LIBRARIES) $(COMMAND) $(if $(HOSTCUDA_CC),$(OUT)/installed/hostcuda-cc) $(ATTACH) $(ATTACH_MODULE)
	@install -d $(call to,$(BINDIR)) $(call to,$(LIBDIR))/pkgconfig $(call to,$(LIBDIR))/cmake/breakgraph $(call to,$(INCLUDEDIR))/breakgraph
	@install -m 755 $(COMMAND) $(call to,$(BINDIR))/breakgraph
	@install -d $(call to,$(MANDIR))/man1
	@install -m 644 packaging/breakgraph.1 $(call to,$(MANDIR))/man1
	@install -d $(call to,$(MANDIR))/man3
	@umask 022; for header in $(filter-out %/export.h,$(wildcard include/breakgraph/*.h)); do packaging/header-page $$header $(VERSION) $(call to,$(MANDIR))/man3 || exit 1; done
	@install -D -m 644 packaging/completions/breakgraph.bash $(call to,$(PREFIX))/share/bash-completion/completions/breakgraph
	@install -D -m 644 packaging/completions/_breakgraph $(call to,$(PREFIX))/share/zsh/site-functions/_breakgraph
	@install -D -m 644 packaging/completions/breakgraph.fish $(call to,$(PREFIX))/share/fish/vendor_completions.d/breakgraph.fish
	$(call put,$(DOCS) $(EXAMPLE_FILES),$(DOCDIR))
	@install -m 644 packaging/examples.mk $(call to,$(DOCDIR))/examples/Makefile
	@install -m 644 include/breakgraph/*.h include/breakgraph/*.hpp $(call to,$(INCLUDEDIR))/breakgraph
	@umask 022; for name in $(INSTALLED); do \
	  install -m 644 $(OUT)/lib$$name.a $(call to,$(LIBDIR)) && \
	  install -m 755 $(OUT)/lib$$name.so $(call to,$(LIBDIR))/lib$$name.so.$(VERSION) && \
	  ln -sf lib$$name.so.$(VERSION) $(call to,$(LIBDIR))/lib$$name.so.$(SOVERSION) && \
	  ln -sf lib$$name.so.$(SOVERSION) $(call to,$(LIBDIR))/lib$$name.so && \
	  $(fill_installed) packaging/$$name.pc.in >$(call to,$(LIBDIR))/pkgconfig/$$name.pc || exit 1; done
	@install -d $(call to,$(LIBDIR))/breakgraph
	$(if $(ATTACH),@install -m 755 $(ATTACH) $(call to,$(LIBDIR))/breakgraph && install -m 644 $(ATTACH_MODULE) $(call to,$(LIBDIR))/breakgraph)
	@umask 022; for name in breakgraphConfig breakgraphConfigVersion; do \
	  $(fill_installed) packaging/$$name.cmake.in >$(call to,$(LIBDIR))/cmake/breakgraph/$$name.cmake || exit 1; done
ifeq ($(DEVICE),host)
	@install -d $(call to,$(INCLUDEDIR))/hostcuda
	@install -m 644 $(SHIM_HEADERS) $(call to,$(INCLUDEDIR))/hostcuda
	@install -m 755 $(OUT)/installed/hostcuda-cc $(call to,$(BINDIR))
	@umask 022; $(call put_cub,$(call to,$(INCLUDEDIR)))
endif
	$(if $(CUDA_FETCHED),@install -d $(call to,$(CUDA_INCLUDE)) && cp -RL '$(CUDA_HOME)/include/.' $(call to,$(CUDA_INCLUDE)) && chmod -R u=rwX$(comma)go=rX $(call to,$(CUDA_INCLUDE)))
	$(if $(SILENT),,@echo "installed breakgraph $(VERSION), DEVICE=$(DEVICE), in $(DESTDIR)$(PREFIX)")
