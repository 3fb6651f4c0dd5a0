/* The order between the program's graphs and its work outside of them: launches, copies, memsets, events, waits. Work
 * that uses the memory of a graph, and that nothing orders with its launches, is a finding ("unordered"). Host memory
 * that is written while a launch may still copy from it is another ("host-source-changed"). Nothing is recorded before
 * the first graph. */
#ifndef BG_ATTACH_STREAM_ORDER_H
#define BG_ATTACH_STREAM_ORDER_H

#include "debug/attach/shim/shim.h"
#include "debug/graph/nodes.h"
#include "debug/memory/pointers.h"

/* begin adds the hooks that this needs. It is called with the first graph. */
void bg__stream_order_begin(void (*begin)(void));
/* Whether work outside of graphs is recorded. */
bool bg__stream_order_is_active(void);

/* The memory and events that a graph's nodes use. The functions below accept NULL. */
typedef struct bg__graph_uses bg__graph_uses;
/* Records what graph uses. addresses: the allocations that its nodes point into. Replaces *uses, which is NULL at first
 * and which the caller frees. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__stream_order_add_graph(const bg_graph *graph, const bg__allocations *addresses, bg__graph_uses **uses);
void bg__stream_order_remove_graph(bg__graph_uses *uses);
/* Reports the inputs of all graphs when the program ends (BG_CHECK=inputs). */
void bg__stream_order_report_inputs(void);
/* The graph is about to be launched: checks the host memory that it copies. */
void bg__stream_order_check_sources(bg__graph_uses *uses);
/* The graph has been launched. uses NULL: what it uses is unknown. */
void bg__stream_order_record_launch(bg__graph_uses *uses, const bg_graph *graph, CUstream stream);

/* The program has launched work, by the driver's function name, into a stream that is not captured. */
void bg__stream_order_record_work(const bg__driver_call *call, const char *name, CUstream stream);
/* The program has called a driver function that records an event or waits. */
void bg__stream_order_record_wait(const bg__driver_call *call, const char *name, CUstream stream);
/* The host has, or may have, waited for all work. */
void bg__stream_order_host_waits_all(void);
/* The program destroys a stream or an event, or has created an event. */
void bg__stream_order_remove_stream(CUstream stream);
void bg__stream_order_remove_event(CUevent event);
void bg__stream_order_add_event(CUevent event);
/* The addresses belong to another allocation now. bytes 0: the range is unknown. */
void bg__stream_order_forget_memory(uintptr_t base, size_t bytes);
/* Kernel handles may be reused for other kernels. */
void bg__stream_order_forget_kernels(void);

#endif
