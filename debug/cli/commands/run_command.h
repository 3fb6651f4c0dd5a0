/* What breakgraph run does if it stays as the parent of its program. */
#ifndef BG_CLI_RUN_H
#define BG_CLI_RUN_H

#include "debug/cli/arguments/command.h"
#include "debug/cli/observe/gather.h"
#include "debug/cli/process/child.h"

/* Prints on standard error, after the program has ended, what the tools covered, and the next command as the last line.
 * Returns CLI_OK, CLI_FAILED if there are findings, or what cli_run_judge returns. */
cli_status cli_run_print_summary(const cli_arguments *arguments, const cli_gathered *gathered, const cli_end *end);

/* For a run without findings. CLI_OK: the program captured and replayed, and the tools of the environment covered that;
 * CLI_UNJUDGED: they could not compare all of it, or it is not known whether they did; else prints what the program
 * lacks. */
cli_status cli_run_judge(const cli_gathered *gathered, const char *program);

/* Sets the variables of the program for --attach and its tools. */
cli_status cli_run_attach(const cli_arguments *arguments);
/* Prints what the tool of --attach covered or did. CLI_UNJUDGED: nothing, or not all. */
cli_status cli_run_print_attached(const cli_gathered *gathered);

/* --seeds: runs the program once with each seed of the host device, and prints a table of the results. Returns the exit
 * status: the program's, if all seeds have one result. */
int cli_run_seeds(const cli_arguments *arguments, int ranks);

#endif
