/* Pairs graphs or processes of two runs whose order is chance: those with the most values in common. */
#ifndef BG_CLI_CLOSEST_H
#define BG_CLI_CLOSEST_H

#include "run_values.h"

/* A hash of a node's operation without its values: equal in two runs if the operation is the same. */
uint64_t cli_node_operation_hash(const cJSON *node);

/* A hash of the graph's name and of the place in the program that made the graph. Graphs of two runs with the same name
 * and place have the same hash. */
uint64_t cli_graph_place_hash(const cli_run_graph *g);
/* The thread that made the graph or memory of this row; -1: unknown. */
long cli_row_thread(const cJSON *row);
/* Whether one thread made the memory of the row `owner` and also the graph, or other memory, of the row `graph`. */
bool cli_is_own_memory(const cJSON *graph, const cJSON *owner);
/* Returns the length of the prefix of the owner's id that is the same for all memory that one place in the program
 * makes, whichever thread makes it; 0: there is no such prefix. */
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
