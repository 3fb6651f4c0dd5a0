/* Compares the values in the graphs of two runs. */
#ifndef BG_CLI_COMPARE_RUNS_H
#define BG_CLI_COMPARE_RUNS_H

#include "run_values.h"

/* Keys of differences: equal in two comparisons that have the first run in common. Starts zeroed. */
typedef struct cli_difference_keys {
    char **list; /* sorted by cli_difference_keys_sort */
    size_t count, capacity;
} cli_difference_keys;
void cli_difference_keys_sort(cli_difference_keys *keys);
void cli_difference_keys_clear(cli_difference_keys *keys);

typedef struct cli_run_comparison {
    const cli_run_values *runs[2];            /* paired */
    const char *labels[2];                    /* "with SCALE=0.5", "in the first run" */
    bool varied;                              /* an input was varied, which the labels name */
    const cli_difference_keys *unvaried_keys; /* differences between equal runs; NULL: not known */
    cli_difference_keys *keys;                /* gets the keys of all differences; NULL: not needed */
    cJSON *reports;                           /* gets a report for each pair that differs, with its "rank" */
    cJSON *not_compared;                      /* gets a row of "not_checked" (cli_coverage.h) for each other graph */
    size_t graphs, nodes, values, updated, differences; /* updated: nodes, which are not compared */
} cli_run_comparison;

/* false: out of host memory. */
bool cli_runs_compare(cli_run_comparison *comparison);

#endif
