# make install: libraries, headers, the command with its manual page and completions, pkg-config files and a CMake package.
.PHONY: install
SHIM_HEADERS := $(wildcard include/hostcuda/*.h)
INSTALLED := breakgraph $(if $(RANKS_OBJ),breakgraph_nccl) $(if $(filter host,$(DEVICE)),hostcuda)
fill = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|g' -e 's|@VERSION@|$(VERSION)|g' \
  -e 's|@DEVICE@|$(DEVICE)|g' -e 's|@CUDA_HOME@|$(CUDA_HOME)|g' -e 's|@CUDA_LIB@|$(CUDA_LIB)|g' \
  -e 's|@REQUIRES@|$(if $(filter host,$(DEVICE)),hostcuda)|g' \
  -e 's|@NCCL_TARGET@|$(if $(filter cuda,$(DEVICE)),nccl)|g' -e 's|@NCCL_LIBS@|$(if $(filter cuda,$(DEVICE)),-lnccl)|g' \
  -e 's|@DEVICE_LIBS@|$(if $(filter cuda,$(DEVICE)),-L$(CUDA_LIB) -Wl$(comma)-rpath$(comma)$(CUDA_LIB) -lcudart)|g'
to = $(DESTDIR)$(1)

install: $(LIBRARIES) $(COMMAND) $(ATTACH) $(ATTACH_MODULE)
	@install -d $(call to,$(BINDIR)) $(call to,$(LIBDIR))/pkgconfig $(call to,$(LIBDIR))/cmake/breakgraph $(call to,$(INCLUDEDIR))/breakgraph
	@install -m 755 $(COMMAND) $(call to,$(BINDIR))/breakgraph
	@install -d $(call to,$(MANDIR))/man1
	@install -m 644 packaging/breakgraph.1 $(call to,$(MANDIR))/man1
	@install -D -m 644 packaging/completions/breakgraph.bash $(call to,$(PREFIX))/share/bash-completion/completions/breakgraph
	@install -D -m 644 packaging/completions/_breakgraph $(call to,$(PREFIX))/share/zsh/site-functions/_breakgraph
	@install -D -m 644 packaging/completions/breakgraph.fish $(call to,$(PREFIX))/share/fish/vendor_completions.d/breakgraph.fish
	@install -m 644 include/breakgraph/*.h $(call to,$(INCLUDEDIR))/breakgraph
	@for name in $(INSTALLED); do \
	  install -m 644 $(OUT)/lib$$name.a $(call to,$(LIBDIR)) && \
	  install -m 755 $(OUT)/lib$$name.so $(call to,$(LIBDIR))/lib$$name.so.$(VERSION) && \
	  ln -sf lib$$name.so.$(VERSION) $(call to,$(LIBDIR))/lib$$name.so.$(SOVERSION) && \
	  ln -sf lib$$name.so.$(SOVERSION) $(call to,$(LIBDIR))/lib$$name.so && \
	  $(fill) packaging/$$name.pc.in >$(call to,$(LIBDIR))/pkgconfig/$$name.pc || exit 1; done
	@install -d $(call to,$(LIBDIR))/breakgraph
	$(if $(ATTACH),@install -m 755 $(ATTACH) $(call to,$(LIBDIR))/breakgraph && install -m 644 $(ATTACH_MODULE) $(call to,$(LIBDIR))/breakgraph)
	@for name in breakgraphConfig breakgraphConfigVersion; do \
	  $(fill) packaging/$$name.cmake.in >$(call to,$(LIBDIR))/cmake/breakgraph/$$name.cmake || exit 1; done
ifeq ($(DEVICE),host)
	@install -d $(call to,$(INCLUDEDIR))/hostcuda
	@install -m 644 $(SHIM_HEADERS) $(call to,$(INCLUDEDIR))/hostcuda
endif
	$(if $(SILENT),,@echo "installed breakgraph $(VERSION), DEVICE=$(DEVICE), in $(DESTDIR)$(PREFIX)")
