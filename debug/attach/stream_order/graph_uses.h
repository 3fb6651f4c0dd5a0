/* The memory and events that a graph's nodes use. */
#ifndef BG_ATTACH_GRAPH_USES_H
#define BG_ATTACH_GRAPH_USES_H

#include "debug/memory/pointers.h"
#include "vector_clocks.h"
#include "host_sources.h"
#include "graph_inputs.h"
#include "outside_work.h"

typedef struct bg__graph_use {
    uintptr_t begin, end;
    size_t rest;      /* bytes to the end of its block; 0: unknown */
    uint64_t threads; /* of a kernel */
    size_t index;     /* number among all uses, in the order of the nodes */
    bg__access_kind use;
    const char *name; /* of the first node with this use */
    bg_site site;
} bg__graph_use;

typedef struct bg__graph_uses {
    bg__graph_use *list;
    size_t count, capacity;
    struct graph_event {
        cudaEvent_t event;
        bool waits;
    } * events;
    size_t event_count, event_capacity;
    bg__implicit_order implicit_order;
    struct bg__graph_uses *next; /* in the list of all graphs */
    bg__host_sources *sources;
    bg__graph_inputs *inventory;
    const char *graph;
    uint64_t id;             /* of the graph */
    bg__epoch last;          /* its last launch: CUDA runs the launches of an executable graph in order */
    bg__vector_clock behind; /* the clock after the last launch */
} bg__graph_uses;

/* Collects into `uses`, which starts zeroed, what the nodes of `graph` use. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__graph_uses_collect(bg__graph_uses *uses, const bg_graph *graph, const bg__allocations *addresses);
void bg__graph_uses_free(bg__graph_uses *uses);

#endif
