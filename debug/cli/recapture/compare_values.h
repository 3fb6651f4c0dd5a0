/* Compares the values of one node in two runs. */
#ifndef BG_CLI_COMPARE_VALUES_H
#define BG_CLI_COMPARE_VALUES_H

#include "run_values.h"

enum { CLI_VALUE_WHAT = 96, CLI_VALUE_SIDE = 480 };

/* sure: 2: the value differs. 1: it seems to differ, but the bytes may be padding of a struct, which can be anything.
 * 0: it seems not to differ, or the difference comes from where an allocator has put a block, or from threads. */
typedef struct cli_value_difference {
    bool pointer, event; /* neither: it is a number */
    bool threads;        /* several threads made such memory, and it is not certain which is which */
    int sure;
    char what[CLI_VALUE_WHAT];     /* "kernel parameter 2, offset 8," */
    char sides[2][CLI_VALUE_SIDE]; /* "is 0.5 (as integer 1056964608)", "points to byte 16 of input" */
    char group[240];               /* equal for differences of one cause, also in other nodes */
} cli_value_difference;

typedef void cli_value_visit(void *user, const cli_value_difference *difference);

/* One node, in the graphs of two runs. */
typedef struct cli_node_pair {
    const cJSON *nodes[2];
    const cli_run_process *processes[2];
    const cli_run_graph *graphs[2];
} cli_node_pair;
/* Calls visit for each difference. Returns how many values were compared. */
size_t cli_node_compare(const cli_node_pair *pair, cli_value_visit *visit, void *user);

#endif
