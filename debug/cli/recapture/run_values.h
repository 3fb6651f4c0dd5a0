/* The values in the graphs of one run of a program. They come from the files values-*.jsonl, which
 * debug/attach/checks/graph_values.c describes. */
#ifndef BG_CLI_RUN_VALUES_H
#define BG_CLI_RUN_VALUES_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "debug/cli/output/exits.h"

typedef struct cli_run_process {
    char group[72];       /* its program, or its rank */
    char key[96];         /* equal in both runs: the group, and a number */
    int rank;             /* -1: none */
    const cJSON **owners; /* by number; NULL: there is none of that number */
    size_t owner_count, owner_capacity;
} cli_run_process;

typedef struct cli_run_graph {
    size_t process;
    const char *name;
    const cJSON *row;
    const cJSON **nodes; /* NULL: the graph could not be read */
    size_t count;
    bool *updated;     /* for each node: the program has set it after the instantiation */
    bool all;          /* the program has updated the whole graph */
    uint64_t place;    /* hash of its process, name and place in the program (pair_graphs.c) */
    uint64_t shape;    /* hash of the operations of its nodes */
    long thread;       /* the thread that made it (pair_graphs.c); -1: unknown */
    long other_thread; /* the thread of the other run that is paired with this one */
    long pair;         /* index in the other run; -1: none */
    bool guessed;      /* several threads make graphs at its place; the pair has the most values in common */
    bool mixed;        /* it is not known which thread of the other run is the same one */
} cli_run_graph;

typedef struct cli_run_values {
    cJSON *lines; /* of all files */
    cli_run_process *processes;
    size_t process_count, process_capacity;
    cli_run_graph *graphs; /* process by process, in the order of their instantiations */
    size_t count, capacity;
    bool cut;      /* a file could not be read to its end */
    cJSON *varied; /* a list of "scale=0.5", from breakgraph.vary */
} cli_run_values;

static inline uint64_t cli_hash_mix(uint64_t hash, uint64_t more)
{
    return (hash ^ more) * 0x100000001b3u; /* as bg__text_hash does with bytes */
}

/* Reads the files. run starts zeroed; clear it also after a failure. */
cli_status cli_run_read(cli_run_values *run, const char *directory);
void cli_run_clear(cli_run_values *run);

/* Pairs processes of the same group by the values in their graphs, and gives those of b the keys of those of a. If host
 * memory runs out, they stay paired by their order. */
void cli_run_pair_processes(const cli_run_values *a, cli_run_values *b);

/* Pairs graphs of the same process, name and place in the program, in their order; if several threads made them, those
 * with the most values in common. A graph that could have several pairs gets none. */
void cli_run_pair_graphs(cli_run_values *a, cli_run_values *b);

#endif
