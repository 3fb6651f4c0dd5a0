/* What checks have looked at, and what not and why, as programs report it. */
#ifndef BG_CLI_LOOKED_H
#define BG_CLI_LOOKED_H

#include <stdbool.h>
#include <stdio.h>

#include "gathered.h"

/* Adds what looked has: the member "process" of a process's report, or looked of another start. NULL: nothing. */
void cli_looked_add(cli_gathered *gathered, const cJSON *looked);
/* Whether any check has looked at anything. */
bool cli_looked_any(const cli_gathered *gathered);
/* Whether that check has. */
bool cli_looked_by(const cli_gathered *gathered, const char *check);
/* A list of one report whose "looked" says how much was looked at, to be merged into those of the tools; NULL: nothing
 * was. The caller deletes it. */
cJSON *cli_looked_report(const cli_gathered *gathered);
/* Why that check did not look at a graph, the first; NULL: it left out none. */
const char *cli_looked_why_not(const cli_gathered *gathered, const char *check);
/* The lines "looked at: ..." and "not looked at: ...". kinds: the checks that ran. attached: what --attach lists. */
void cli_looked_print(const cli_gathered *gathered, const char *const *kinds, int count, bool attached, FILE *out);

#endif
