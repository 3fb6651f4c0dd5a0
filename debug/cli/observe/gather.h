/* Reads the files that programs wrote into the directory of BG_REPORT. */
#ifndef BG_CLI_GATHER_H
#define BG_CLI_GATHER_H

#include <dirent.h>
#include <stdio.h>

#include "debug/cli/output/exits.h"
#include "gathered.h"

/* Whether the name is "START...json"; files that are still being written have another ending. */
bool cli_is_report_file(const struct dirent *entry, const char *start);
/* Calls `visit` for each file of `directory` that is wanted, in version order, until one fails. */
cli_status cli_for_each_file(const char *directory, int (*is_wanted)(const struct dirent *entry),
                             cli_status (*visit)(void *user, const char *path), void *user);

/* Reads all files. CLI_UNREADABLE, with a message, if one is not a report of this version. */
cli_status cli_gather(const char *directory, cli_gathered *gathered);
/* The same, without files that were written before `since`. */
cli_status cli_gather_since(const char *directory, struct timespec since, cli_gathered *gathered);
void cli_gathered_clear(cli_gathered *gathered);

/* CLI_OK if a program with the library captured and replayed; else prints what is missing. */
cli_status cli_gathered_check_replays(const cli_gathered *gathered, const char *program);

/* Counts the findings with at least that severity (0 note, 1 warning, 2 fault); kind NULL: any. */
int cli_gathered_count(const cli_gathered *gathered, const char *kind, int severity);
/* Prints all findings as text: faults first, and causes before symptoms. */
void cli_gathered_print(const cli_gathered *gathered, FILE *out);
/* Prints the reports as JSON, with the command's name, its exit status, and checks (NULL: none), which it deletes. */
void cli_gathered_print_json(const cli_gathered *gathered, const char *command, cli_status status, cJSON *checks);

#endif
