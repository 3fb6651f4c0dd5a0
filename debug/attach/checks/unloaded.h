/* Kernels of graphs whose modules the program unloads. */
#ifndef BG_ATTACH_UNLOADED_H
#define BG_ATTACH_UNLOADED_H

#include <cuda.h>

#include "graph/inspect.h"
#include "debug/attach/shim/shim.h"
#include "debug/report/report.h"

/* The modules of a graph's kernels. */
typedef struct bg__kernel_uses bg__kernel_uses;

/* Notes those of graph's nodes, in place of *uses. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__kernels_note(const bg_graph *graph, bg__kernel_uses **uses);
void bg__kernels_free(bg__kernel_uses *uses);
/* node has got another kernel, perhaps, which is not noted yet. */
void bg__kernels_forget(bg__kernel_uses *uses, cudaGraphNode_t node);
/* Whether a module is gone: then CUDA must not be asked about the graph's kernels. Adds a finding for each node. */
bool bg__kernels_check(const bg__kernel_uses *uses, bg_report *report);

/* Before the calls that unload a module or a library, and after them: what a call that fails names is still there. */
void bg__unload_begin(CUmodule module, CUlibrary library);
void bg__unload_end(bool unloaded);

void bg__unloads_begin(const bg__attach_shim *shim);

#endif
