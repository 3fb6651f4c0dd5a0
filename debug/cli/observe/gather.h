/* What programs left in the directory that BG_REPORT names. */
#ifndef BG_CLI_GATHER_H
#define BG_CLI_GATHER_H

#include <dirent.h>
#include <stdio.h>

#include "debug/cli/output/exits.h"
#include "gathered.h"

/* Whether the name is "START...json"; files that are still being written have another ending. */
bool cli_is_report_file(const struct dirent *entry, const char *start);
/* Calls visit for each file of directory that is wanted, in version order, until one fails. */
cli_status cli_each_file(const char *directory, int (*is_wanted)(const struct dirent *entry),
                         cli_status (*visit)(void *user, const char *path), void *user);

/* CLI_UNREADABLE, and said, where a file is not one that this program wrote. */
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

#endif
