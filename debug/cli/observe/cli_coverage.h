/* The coverage of the checks, as programs report it: what the checks looked at, what they left out, and why. */
#ifndef BG_CLI_COVERAGE_H
#define BG_CLI_COVERAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "gathered.h"

/* Adds the coverage of a process, which is the member "process" of its report, or the coverage of another start.
 * `looked` NULL adds nothing. */
void cli_coverage_add(cli_gathered *gathered, const cJSON *looked);
/* Adds the graphs that --attach lists, and their launches. The check `replay` has compared each of these launches. */
void cli_coverage_add_listed(cli_gathered *gathered);
/* Whether any check has covered anything. */
bool cli_coverage_any(const cli_gathered *gathered);
/* Whether that check has covered anything. */
bool cli_coverage_has(const cli_gathered *gathered, const char *check);
/* A list of one report, whose member "looked" is the coverage, to be merged into the reports of the tools. The caller
 * deletes it. NULL: nothing was covered. */
cJSON *cli_coverage_report(const cli_gathered *gathered);
/* The first reason why that check left out a graph; NULL: it left out none. */
const char *cli_coverage_why_not(const cli_gathered *gathered, const char *check);
/* Prints the lines "looked at: ..." and "not looked at: ...". kinds: the checks that ran. attached: with --attach. */
void cli_coverage_print(const cli_gathered *gathered, const char *const *kinds, int count, bool attached, FILE *out);

#endif
