/* What programs left in the directory that BG_REPORT names. */
#ifndef BG_CLI_GATHER_H
#define BG_CLI_GATHER_H

#include <cjson/cJSON.h>

#include "cli.h"

enum { CLI_REPORT_VERSION = 2 }; /* that this command reads */

typedef struct cli_gathered {
    int processes; /* that have the library in them */
    long graphs, replays;
    cJSON *captured; /* a list of reports with outlines, one for each graph, in order */
    cJSON *reports;  /* a list of the other reports */
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

/* A member that is text; "" where it is not there. */
const char *cli_text(const cJSON *object, const char *name);
/* A member that is a number; 0 where it is not there. */
double cli_number(const cJSON *object, const char *name);

#endif
