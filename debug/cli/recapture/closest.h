/* Which of one run is which of another one, where their order is chance: those that hold most alike. */
#ifndef BG_CLI_CLOSEST_H
#define BG_CLI_CLOSEST_H

#include "run_values.h"

/* What a node does, whatever its values: equal in two runs where it does the same. */
uint64_t cli_node_work(const cJSON *node);

/* Where in the program the graph was made, and its name: equal in two runs where those are. */
uint64_t cli_graph_place(const cli_run_graph *g);
/* The thread that has made the graph, or the memory, in its row; -1: unknown. */
long cli_thread_of(const cJSON *row);
/* Of rows of the file: whether the thread that has made that memory has made the graph (or other memory), too. */
bool cli_is_own_memory(const cJSON *graph, const cJSON *owner);
/* How many bytes of its id are the same for all that a place in the program has made, in whatever thread; 0: none. */
size_t cli_maker_bytes(const cJSON *owner);
/* A hash of each value, sorted: two have much in common where many are equal. Starts zeroed. */
typedef struct cli_held {
    uint64_t *list;
    size_t count, capacity;
    bool taken; /* it has a pair, or gets none */
} cli_held;

/* Adds what the graph holds; false: out of host memory. threads: several have made such graphs, so that memory counts
 * as its thread's own, whichever that is. Sort it when all are added. */
bool cli_held_add(cli_held *held, const cli_run *run, const cli_run_graph *g, bool threads);
void cli_held_sort(cli_held *held);
void cli_held_free(cli_held *list, size_t count);

typedef struct cli_closest {
    cli_held *held[2]; /* of each of both runs */
    size_t count[2];
    bool (*may_pair)(const void *user, size_t i, size_t k);  /* NULL: any */
    bool (*is_likely)(const void *user, size_t i, size_t k); /* of those that have as much in common; NULL: none */
    void (*pair)(void *user, size_t i, size_t k);
    void *user;
} cli_closest;
/* Pairs those that have most in common first; of several, the first ones. false: out of host memory. */
bool cli_pair_closest(const cli_closest *c);

#endif
