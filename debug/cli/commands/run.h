/* What breakgraph run does where it stays as the parent of its program. */
#ifndef BG_CLI_RUN_H
#define BG_CLI_RUN_H

#include "debug/cli/arguments/command.h"
#include "debug/cli/observe/gather.h"
#include "debug/cli/process/child.h"

/* On standard error, after the program has ended: how much the tools looked at, and as the last line the next command.
 * CLI_OK, CLI_FAILED where there are findings, or why nothing was looked at. */
cli_status cli_run_tell(const cli_arguments *arguments, const cli_gathered *gathered, const cli_end *end);

/* --seeds: the program once under each seed of the host device, and a table of the results. Gives the exit status: the
 * program's, where all seeds have one result. */
int cli_run_seeds(const cli_arguments *arguments, int ranks);

#endif
