/* How a program is started as the ranks of a job. */
#ifndef BG_CLI_PLAN_H
#define BG_CLI_PLAN_H

#include <stdbool.h>

typedef struct cli_ranks {
    int count;
    char *const *argv;
    const char *const *set; /* as cli_child's */
    double timeout;         /* seconds; 0: none */
    double patience;        /* seconds for the others to end by themselves after one has failed with a status */
    bool input;             /* rank 0 gets the command's standard input; else none */
    bool prefix;            /* "[rank 1] " before each line */
    /* Directories for files rank-N.out and rank-N.err; NULL: lines go to the command's own streams. */
    const char *output, *errors;
} cli_ranks;

#endif
