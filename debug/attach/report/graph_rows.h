/* A row for each of the program's graphs, in the list "graphs" of a report (docs/report-format.md). */
#ifndef BG_ATTACH_GRAPH_ROWS_H
#define BG_ATTACH_GRAPH_ROWS_H

#include <cjson/cJSON.h>
#include "debug/memory/hash_table.h"

#include <breakgraph/attach.h>

#include "graph/inspect.h"
#include "debug/attach/stacks/stacks.h"

/* Creates a row, which the caller owns. made: the call that instantiated the graph; NULL: unknown. memory: bytes of
 * device memory that the instantiation, and other work meanwhile, took; 0: unknown. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__graph_row_create(cJSON **row, const bg_graph *graph, const bg__stack *made, size_t memory);
/* Sets how often the graph was launched and updated. row NULL does nothing. */
void bg__graph_row_set_counts(cJSON *row, uint64_t launches, uint64_t updates);
/* nodes: how many nodes run outside of the graph. split: how many launches were split. outside: how often such nodes
 * were launched, in all. `nodes` 0 does nothing. */
void bg__graph_row_set_outside_counts(cJSON *row, size_t nodes, uint64_t split, uint64_t outside);
/* Sets the graph's new name. row NULL does nothing. */
void bg__graph_row_set_name(cJSON *row, const char *name);

/* Adds an array called name to object, with a string for each line of text. Returns false when out of host memory. */
bool bg__graph_row_add_lines(cJSON *object, const char *name, const char *text);

/* Rows of destroyed graphs: one for graphs that are alike, with their number. Starts NULL. */
typedef struct bg__ended_graph {
    struct bg__ended_graph_key {
        const bg__stack *made;
        size_t nodes;
        char name[BG_ATTACH_NAME_BYTES]; /* without "#3" */
    } key;
    cJSON *row;
    UT_hash_handle hh;
} bg__ended_graph;
/* Takes ownership of row, which may be NULL. */
void bg__ended_graphs_add(bg__ended_graph **list, cJSON *row, const bg__stack *made);

#endif
