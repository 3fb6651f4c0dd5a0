/* The program's work around its graphs: launches, copies and memsets outside of them, events, waits. What uses the same
 * memory as a graph, and is not ordered with its launches, is a finding ("unordered"); so is host memory that is
 * written while a launch may still copy from it ("host-source-changed"). Nothing is looked at before the first graph.
 */
#ifndef BG_ATTACH_AROUND_H
#define BG_ATTACH_AROUND_H

#include "debug/attach/shim/shim.h"
#include "debug/graph/nodes.h"
#include "debug/memory/pointers.h"

/* begin: hooks what must be looked at, called with the first graph. */
void bg__around_begin(void (*begin)(void));
/* Whether work around graphs is looked at. */
bool bg__around_is_used(void);

/* What a graph's nodes use; the caller frees it. NULL: nothing. */
typedef struct bg__around_uses bg__around_uses;
/* addresses: the allocations that nodes point into. *uses is replaced. */
bg_status bg__around_note(const bg_graph *graph, const bg__allocations *addresses, bg__around_uses **uses);
void bg__around_free(bg__around_uses *uses);
/* The program ends: tells what the inputs of its graphs were, where that is wanted (BG_CHECK=inputs). */
void bg__around_end(void);
/* The graph is about to be launched: looks at the host memory that it copies. */
void bg__around_look(bg__around_uses *uses);
/* It has been launched. uses NULL: what it does, nobody knows. */
void bg__around_launched(bg__around_uses *uses, const bg_graph *graph, CUstream stream);

/* The program has launched work, by a function of the driver of that name, into a stream that is not captured. */
void bg__around_work(const bg__driver_call *call, const char *name, CUstream stream);
/* A call of the driver with which streams and the host wait, by its name. */
void bg__around_wait(const bg__driver_call *call, const char *name, CUstream stream);
/* The host has waited for everything, or may have. */
void bg__around_host_waits(void);
/* A stream or an event is destroyed; an event is new. */
void bg__around_stream_gone(CUstream stream);
void bg__around_event_gone(CUevent event);
void bg__around_event_made(CUevent event);
/* Memory that is other memory now; bytes 0: nobody knows which. */
void bg__around_memory_changed(uintptr_t base, size_t bytes);
/* Handles of kernels may be those of others. */
void bg__around_kernels_changed(void);

#endif
