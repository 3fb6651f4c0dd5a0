/* Reports graphs whose kernels' modules the program has unloaded. */
#ifndef BG_ATTACH_UNLOADED_H
#define BG_ATTACH_UNLOADED_H

#include <cuda.h>

#include "graph/inspect.h"
#include "debug/attach/shim/shim.h"
#include "debug/report/report.h"

/* The modules of a graph's kernels. */
typedef struct bg__kernel_uses bg__kernel_uses;

/* Records the modules of graph's kernel nodes in place of *uses. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__kernels_note(const bg_graph *graph, bg__kernel_uses **uses);
void bg__kernels_free(bg__kernel_uses *uses);
/* The program may have given node another kernel, whose module is not recorded yet. */
void bg__kernels_forget(bg__kernel_uses *uses, cudaGraphNode_t node);
/* Returns whether a module is unloaded: then do not ask CUDA about its kernels. Adds a finding for each node. */
bool bg__kernels_check(const bg__kernel_uses *uses, bg_report *report);

/* Call these before and after a call that unloads a module or a library. unloaded: the call succeeded; if it failed,
 * the module is still loaded. */
void bg__unload_begin(CUmodule module, CUlibrary library);
void bg__unload_end(bool unloaded);

void bg__unloads_begin(const bg__attach_shim *shim);

#endif
