/* Pairs graphs or processes of two runs whose order is chance: those with the most values in common. */
#ifndef BG_CLI_CLOSEST_H
#define BG_CLI_CLOSEST_H

#include "run_values.h"

/* A hash of a node's operation without its values: equal in two runs if the operation is the same. */
uint64_t cli_node_operation_hash(const cJSON *node);

/* A hash of the place in the program that made the graph, and of its name: equal in two runs if both are. */
uint64_t cli_graph_place_hash(const cli_run_graph *g);
/* The thread that made the graph or memory of this row; -1: unknown. */
long cli_row_thread(const cJSON *row);
/* Whether the thread that made the memory (the row of an owner) also made the graph, or other memory, of this row. */
bool cli_is_own_memory(const cJSON *graph, const cJSON *owner);
/* The length of the prefix of its id that is the same for all memory that a place in the program makes, in whatever
 * thread; 0: there is none. */
size_t cli_maker_prefix_bytes(const cJSON *owner);
/* The hashes of all values of a graph or process, sorted, to count those that two have in common. Starts zeroed. */
typedef struct cli_value_hashes {
    uint64_t *list;
    size_t count, capacity;
    bool taken; /* it has a pair, or is excluded */
} cli_value_hashes;

/* Adds the values of the graph; false: out of host memory. threads: several threads make such graphs, so that memory of
 * the graph's own thread counts as equal, whichever thread that is. Call cli_value_hashes_sort when all are added. */
bool cli_value_hashes_add(cli_value_hashes *held, const cli_run_values *run, const cli_run_graph *g, bool threads);
void cli_value_hashes_sort(cli_value_hashes *held);
void cli_value_hashes_free(cli_value_hashes *list, size_t count);

typedef struct cli_pairing {
    cli_value_hashes *held[2]; /* for each run */
    size_t count[2];
    bool (*may_pair)(const void *user, size_t i, size_t k);  /* NULL: any */
    bool (*is_likely)(const void *user, size_t i, size_t k); /* preferred among equals; NULL: none */
    void (*pair)(void *user, size_t i, size_t k);
    void *user;
} cli_pairing;
/* Pairs those with the most in common first; of equals, the first ones. false: out of host memory. */
bool cli_pair_closest(const cli_pairing *c);

#endif
