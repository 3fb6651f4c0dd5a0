/* Compares the values of one node in two runs. */
#ifndef BG_CLI_NODE_VALUES_H
#define BG_CLI_NODE_VALUES_H

#include "run_values.h"

enum { CLI_VALUE_WHAT = 96, CLI_VALUE_SIDE = 480 };

/* sure: 2, it is another value; 1: it looks like one, and may be padding of a struct, which holds anything; 0: it does
 * not, or is where an allocator has put a block. */
typedef struct cli_value_difference {
    bool pointer, event; /* neither: it is a number */
    int sure;
    char what[CLI_VALUE_WHAT];     /* "kernel parameter 2, offset 8," */
    char sides[2][CLI_VALUE_SIDE]; /* "is 0.5 (as integer 1056964608)", "points to byte 16 of input" */
    char group[240];               /* equal for differences that have one cause, in other nodes */
} cli_value_difference;

typedef void cli_value_visit(void *user, const cli_value_difference *difference);

/* Calls visit for each difference. Returns how many values were compared. */
size_t cli_node_compare(const cJSON *const nodes[2], const cli_run_process *const processes[2], cli_value_visit *visit,
                        void *user);

#endif
