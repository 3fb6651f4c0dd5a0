/* Pairs graphs or processes of two runs whose order is chance: those with the most values in common. */
#ifndef BG_CLI_CLOSEST_H
#define BG_CLI_CLOSEST_H

#include "run_values.h"

/* A hash of a node's operation without its values: equal in two runs if the operation is the same. */
uint64_t cli_node_work(const cJSON *node);

/* A hash of the place in the program that made the graph, and of its name: equal in two runs if both are. */
uint64_t cli_graph_place(const cli_run_graph *g);
/* The thread that made the graph or memory of this row; -1: unknown. */
long cli_thread_of(const cJSON *row);
/* Whether the thread that made the memory (the row of an owner) also made the graph, or other memory, of this row. */
bool cli_is_own_memory(const cJSON *graph, const cJSON *owner);
/* The length of the prefix of its id that is the same for all memory that a place in the program makes, in whatever
 * thread; 0: there is none. */
size_t cli_maker_bytes(const cJSON *owner);
/* The hashes of all values of a graph or process, sorted, to count those that two have in common. Starts zeroed. */
typedef struct cli_held {
    uint64_t *list;
    size_t count, capacity;
    bool taken; /* it has a pair, or is excluded */
} cli_held;

/* Adds the values of the graph; false: out of host memory. threads: several threads make such graphs, so that memory of
 * the graph's own thread counts as equal, whichever thread that is. Call cli_held_sort when all are added. */
bool cli_held_add(cli_held *held, const cli_run *run, const cli_run_graph *g, bool threads);
void cli_held_sort(cli_held *held);
void cli_held_free(cli_held *list, size_t count);

typedef struct cli_closest {
    cli_held *held[2]; /* for each run */
    size_t count[2];
    bool (*may_pair)(const void *user, size_t i, size_t k);  /* NULL: any */
    bool (*is_likely)(const void *user, size_t i, size_t k); /* preferred among equals; NULL: none */
    void (*pair)(void *user, size_t i, size_t k);
    void *user;
} cli_closest;
/* Pairs those with the most in common first; of equals, the first ones. false: out of host memory. */
bool cli_pair_closest(const cli_closest *c);

#endif
