/* Reports graphs whose kernels' modules the program has unloaded. */
#ifndef BG_ATTACH_KERNEL_MODULES_H
#define BG_ATTACH_KERNEL_MODULES_H

#include <cuda.h>

#include "graph/inspect.h"
#include "debug/attach/shim/shim.h"
#include "debug/report/report.h"

/* The modules of a graph's kernels. */
typedef struct bg__kernel_modules bg__kernel_modules;

/* Records the modules of graph's kernel nodes in place of *uses. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__kernel_modules_record(const bg_graph *graph, bg__kernel_modules **uses);
void bg__kernel_modules_free(bg__kernel_modules *uses);
/* The program may have given node another kernel, whose module is not recorded yet. */
void bg__kernel_modules_forget_node(bg__kernel_modules *uses, cudaGraphNode_t node);
/* Returns whether a module is unloaded: then do not ask CUDA about its kernels. Adds a finding for each node. */
bool bg__kernel_modules_check(const bg__kernel_modules *uses, bg_report *report);

/* Call these before and after a call that unloads a module or a library. unloaded: the call succeeded; if it failed,
 * the module is still loaded. */
void bg__module_unload_begin(CUmodule module, CUlibrary library);
void bg__module_unload_end(bool unloaded);

void bg__kernel_modules_begin(const bg__attach_shim *shim);

#endif
