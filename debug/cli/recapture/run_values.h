/* What the graphs of a program held in one of its runs: the files values-*.jsonl, which
 * debug/attach/checks/graph_values.h describes. */
#ifndef BG_CLI_RUN_VALUES_H
#define BG_CLI_RUN_VALUES_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "debug/cli/output/exits.h"

typedef struct cli_run_process {
    char group[72];       /* its program, or rank */
    char key[96];         /* equal in both runs: its group, and which of those it is */
    int rank;             /* -1: none */
    const cJSON **owners; /* by their numbers; NULL: there is none of that number */
    size_t owner_count, owner_capacity;
} cli_run_process;

typedef struct cli_run_graph {
    size_t process;
    const char *name;
    const cJSON *row;
    const cJSON **nodes; /* NULL: the graph could not be read */
    size_t count;
    bool *updated;     /* of each node: the program has set it after the instantiation */
    bool all;          /* the program has updated the graph */
    uint64_t place;    /* hash of its process, name and place in the program (pairs.c) */
    uint64_t shape;    /* and of what its nodes do */
    long thread;       /* that has made it (pairs.c); -1: unknown */
    long other_thread; /* of the other run, which has made the pair of one of that thread's graphs */
    long pair;         /* index in the other run; -1: none */
    bool guessed; /* several threads have made graphs at its place, and the pair is the one that holds most alike */
    bool mixed;   /* which thread of the other run is its own is not known */
} cli_run_graph;

typedef struct cli_run {
    cJSON *lines; /* of all files */
    cli_run_process *processes;
    size_t process_count, process_capacity;
    cli_run_graph *graphs; /* of one process after the other, in the order of their instantiations */
    size_t count, capacity;
    bool cut;      /* a file could not be read, or not to its end */
    cJSON *varied; /* "scale=0.5" of breakgraph.vary, a list */
} cli_run;

static inline uint64_t cli_hash_mix(uint64_t hash, uint64_t more)
{
    return (hash ^ more) * 0x100000001b3u; /* as bg__text_hash does with bytes */
}

/* Starts zeroed; clear it also after a failure. */
cli_status cli_run_read(cli_run *run, const char *directory);
void cli_run_clear(cli_run *run);

/* Gives the processes of b the keys of those of a: of the same group, the ones whose graphs hold most alike. Where
 * there is no host memory for that, the processes stay as they are, in their order. */
void cli_run_pair_processes(const cli_run *a, cli_run *b);

/* Pairs the graphs of two runs: those of the same process, name and place in the program, in their order; where several
 * threads have made them, those that hold most alike. What could be paired in more than one way has no pair. */
void cli_run_pair(cli_run *a, cli_run *b);

#endif
