/* The reports of programs in memory. */
#ifndef BG_CLI_GATHERED_H
#define BG_CLI_GATHERED_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <time.h>

enum { CLI_REPORT_VERSION = 2 }; /* the version that this command reads */

typedef struct cli_gathered {
    struct timespec since; /* files that were written before were ignored */
    int processes;         /* how many use the library */
    long graphs, replays;
    /* Sums of BG_SHADOW over all processes that have ended: graphs whose replays were compared, graphs without a
     * forward function, replays that were compared, replays that could not be compared. */
    long shadowed, without_pass, compared, uncompared;
    int unended;     /* processes that have graphs and did not end by exit: their last counts may be missing */
    bool runner;     /* a process has a runner */
    bool gpu;        /* a process used a GPU */
    int code;        /* the program's exit status; 0 also if it did not end by itself */
    int ranks;       /* size of the job of ranks; 0: none */
    cJSON *of_rank;  /* the rank of each process id, if there are ranks */
    void *known;     /* an index of the findings by key, as a tree (tsearch) */
    cJSON *looked;   /* "checks" and "not_checked" of all processes (cli_coverage.h); NULL: none */
    cJSON *captured; /* a list of reports with outlines, one for each graph, in order */
    cJSON *reports;  /* a list of the other reports; a finding of several ranks is in it once, with "ranks" */
} cli_gathered;

#endif
