/* Reports of programs, as the command keeps them. */
#ifndef BG_CLI_GATHERED_H
#define BG_CLI_GATHERED_H

#include <cjson/cJSON.h>

enum { CLI_REPORT_VERSION = 2 }; /* that this command reads */

typedef struct cli_gathered {
    int processes; /* that have the library in them */
    long graphs, replays;
    int ranks;       /* of the job that they are of; 0: none */
    cJSON *of_rank;  /* where there are ranks, the rank of each process id */
    void *known;     /* the findings so far by texts that tell them apart, as a tree (tsearch) */
    cJSON *captured; /* a list of reports with outlines, one for each graph, in order */
    cJSON *reports;  /* a list of the other reports; what several ranks found is in it once, with "ranks" */
} cli_gathered;

#endif
