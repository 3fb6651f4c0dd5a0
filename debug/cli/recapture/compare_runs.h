/* Compares what graphs hold in two runs. */
#ifndef BG_CLI_COMPARE_RUNS_H
#define BG_CLI_COMPARE_RUNS_H

#include "run_values.h"

/* Names of differences, which two comparisons of one first run have in common. Starts zeroed. */
typedef struct cli_difference_keys {
    char **list; /* sorted by cli_keys_sort */
    size_t count, capacity;
} cli_difference_keys;
void cli_keys_sort(cli_difference_keys *keys);
void cli_keys_clear(cli_difference_keys *keys);

typedef struct cli_run_comparison {
    const cli_run *runs[2];                   /* paired */
    const char *labels[2];                    /* "with SCALE=0.5", "in the first run" */
    bool varied;                              /* something was varied, which the labels say */
    const cli_difference_keys *also_unvaried; /* those that are there without it, too; NULL: that is not known */
    cli_difference_keys *keys;                /* gets those of all differences; NULL: nobody needs them */
    cJSON *reports;                           /* gets a report for each pair that differs, with its "rank" */
    cJSON *not_compared;                      /* gets a row of "not_checked" (looked.h) for each other graph */
    size_t graphs, nodes, values, updated, differences; /* updated: nodes, which are not compared */
} cli_run_comparison;

/* false: out of host memory. */
bool cli_runs_compare(cli_run_comparison *comparison);

#endif
