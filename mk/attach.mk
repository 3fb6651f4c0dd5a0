# What enters unmodified programs (breakgraph COMMAND --attach). In a folder of its own: two SONAMEs are those of the driver,
# and ldconfig, which links libraries by their SONAMEs, must not find them.
FRONT := debug/attach/shim
# Not with sanitizers: these are in programs, and cannot be preloaded into them.
ATTACH := $(if $(SAN),,$(addprefix $(OUT)/attach/libbreakgraph_,attach.so attach_alias.so audit.so tools.so))
TOOLS_OBJ := $(call objects,$(filter-out $(FRONT)/%,$(call find,debug/attach,c)))
FRONT_OBJ := $(patsubst %,$(OUT)/$(FRONT)/%.o,shim jumps)
# On PYTHONPATH there, for programs of Python.
ATTACH_MODULE := $(if $(ATTACH),$(OUT)/attach/breakgraph.py)
all: $(ATTACH) $(ATTACH_MODULE)

$(OUT)/attach/breakgraph.py: python/breakgraph.py
	@mkdir -p $(@D)
	$(call say,COPY)cp $< $@

$(OUT)/$(FRONT)/names.inc: tools/driver-names $(OUT)/flags.c
	@mkdir -p $(@D)
	$(call say,NAMES)tools/driver-names $(CUDA_HOME)/include $(CC) >$@
$(FRONT_OBJ): $(OUT)/$(FRONT)/names.inc
$(FRONT_OBJ): private ALL_CPPFLAGS += -I$(OUT)
# Preloaded, it has its thread's variables without asking the loader, which may be waiting for it.
$(OUT)/$(FRONT)/shim.o: ALL_CFLAGS += -ftls-model=initial-exec

define link_attach
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -shared -Wl,-z,defs -Wl,-z,nodelete $(1) -o $@ $(filter %.o,$^) $(ALL_LDFLAGS) $(2) -lpthread
endef
$(OUT)/attach/libbreakgraph_attach.so: $(FRONT_OBJ) $(OUT)/flags.link
	$(call link_attach,-Wl$(comma)-soname$(comma)libcuda.so.1 -Wl$(comma)-Bsymbolic)
# Nothing but the name under which some programs open the driver.
$(OUT)/attach/libbreakgraph_attach_alias.so: $(OUT)/attach/libbreakgraph_attach.so $(OUT)/flags.link
	$(call link_attach,-Wl$(comma)-soname$(comma)libcuda.so,-Wl$(comma)--no-as-needed $<)
$(OUT)/attach/libbreakgraph_audit.so: $(OUT)/$(FRONT)/audit.o $(OUT)/flags.link
	$(call link_attach)

# In the tools, where the archive can be in a shared library: the program's machine, such as a container, may lack libcjson.so.1.
CJSON_ARCHIVE := $(if $(BUILDS),$(filter /%,$(shell $(CC) $(LDFLAGS) -print-file-name=libcjson.a)))
CJSON_STATIC := $(if $(CJSON_ARCHIVE),$(shell $(CC) -shared -o /dev/null -Wl,--whole-archive $(CJSON_ARCHIVE) -Wl,--no-whole-archive -lm 2>/dev/null && echo $(CJSON_ARCHIVE)))
TOOLS_LDLIBS := $(if $(CJSON_STATIC),$(patsubst -lcjson,$(CJSON_STATIC),$(LIB_LDLIBS)),$(LIB_LDLIBS)) $(if $(filter host,$(DEVICE)),-L$(OUT) -lhostcuda -Wl$(comma)-rpath$(comma)'$$ORIGIN/..',-L$(CUDA_LIB) -lcudart_static -ldl -lrt) -lstdc++ -lm
# The tools that the shim loads into the program, with the library and, on a GPU, a runtime of their own; of all that
# nothing is seen but the one function that the shim calls.
$(TOOLS_OBJ): private ALL_CPPFLAGS += -I$(OUT)
# As the page of a report: lines of C.
$(OUT)/debug/attach/allocators/feed_lines.inc: debug/attach/allocators/feed.py
	@mkdir -p $(@D)
	$(call say,LINES)sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' $< >$@
$(OUT)/debug/attach/allocators/python.o: $(OUT)/debug/attach/allocators/feed_lines.inc
$(OUT)/attach/libbreakgraph_tools.so: $(TOOLS_OBJ) $(LIB_OBJ) $(OUT)/flags.link debug/attach/tools.map $(if $(filter host,$(DEVICE)),$(DEVICE_SO))
	$(call link_attach,-Wl$(comma)--version-script=debug/attach/tools.map,$(TOOLS_LDLIBS))
# A test of the tools themselves.
$(addprefix $(OUT)/,$(call unit,attach_blocks attach_stages attach_work)): $(TOOLS_OBJ)
$(OUT)/$(call unit,run_values): $(call objects,debug/cli/recapture/compare_values.c debug/cli/recapture/pair_graphs.c debug/cli/recapture/pair_processes.c debug/cli/recapture/closest.c debug/cli/output/exits.c debug/cli/output/cli_json.c)
