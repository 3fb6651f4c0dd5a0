/* What programs left in the directory that BG_REPORT names. */
#ifndef BG_CLI_GATHER_H
#define BG_CLI_GATHER_H

#include <cjson/cJSON.h>

#include "debug/cli/cli.h"

enum { CLI_REPORT_VERSION = 2 }; /* that this command reads */

typedef struct cli_gathered {
    int processes; /* that have the library in them */
    long graphs, replays;
    int ranks;       /* of the job that they are of; 0: none */
    cJSON *of_rank;  /* where there are ranks, the rank of each process id */
    cJSON *seen;     /* where there are ranks, the findings of each as it wrote them */
    cJSON *captured; /* a list of reports with outlines, one for each graph, in order */
    cJSON *reports;  /* a list of the other reports; what several ranks found is in it once, with "ranks" */
} cli_gathered;

/* CLI_UNREADABLE, and said, where a file is none of ours. */
cli_status cli_gather(const char *directory, cli_gathered *gathered);
void cli_gathered_clear(cli_gathered *gathered);

/* CLI_OK where a program with the library captured and replayed; else says what it lacks. */
cli_status cli_gathered_judge(const cli_gathered *gathered, const char *program);

/* Findings with at least that severity (0 note, 1 warning, 2 fault); kind NULL: any. */
int cli_gathered_count(const cli_gathered *gathered, const char *kind, int severity);
/* All findings as text, faults first. */
void cli_gathered_print(const cli_gathered *gathered, FILE *out);
/* The reports as JSON on standard output, with the command's name, how it ends, and which checks were made, which is
 * taken (NULL: none). */
void cli_gathered_print_json(const cli_gathered *gathered, const char *command, cli_status status, cJSON *checks);

/* ---- gather_ranks.c: reports of several ranks ---- */

void cli_gathered_note_rank(cli_gathered *gathered, const cJSON *process);
/* Of the process that wrote a file "report-PID-N.json"; -1: none. */
int cli_gathered_rank_of(const cli_gathered *gathered, const char *file);
/* Takes out of report, which is to be added, what others have found, and notes there who else has. */
void cli_gathered_merge(const cli_gathered *gathered, cJSON *report, int rank);
/* Messages of findings that only some ranks have get "rank 1: " in front. */
void cli_gathered_name_ranks(const cli_gathered *gathered);

/* A member that is text; "" where it is not there. */
const char *cli_text(const cJSON *object, const char *name);
/* A member that is a number; 0 where it is not there. */
double cli_number(const cJSON *object, const char *name);

#endif
