/* What breakgraph run does where it stays as the parent of its program. */
#ifndef BG_CLI_RUN_H
#define BG_CLI_RUN_H

#include "debug/cli/arguments/command.h"
#include "debug/cli/observe/gather.h"
#include "debug/cli/process/child.h"

/* On standard error, after the program has ended: how much the tools looked at, and as the last line the next command.
 * CLI_OK, CLI_FAILED where there are findings, or as cli_run_judge has it. */
cli_status cli_run_tell(const cli_arguments *arguments, const cli_gathered *gathered, const cli_end *end);

/* CLI_OK where the program captured and replayed, and the tools of the environment looked at that; CLI_UNJUDGED where
 * they could compare nothing, or not all, or where that is not known; else prints what the program lacks. For a run
 * without findings. */
cli_status cli_run_judge(const cli_gathered *gathered, const char *program);

/* --attach and its tools: sets the variables of the program. */
cli_status cli_run_attach(const cli_arguments *arguments);
/* What the tool of --attach looked at, or did. CLI_UNJUDGED: nothing, or not all. */
cli_status cli_run_tell_attached(const cli_gathered *gathered);

/* --seeds: the program once under each seed of the host device, and a table of the results. Gives the exit status: the
 * program's, where all seeds have one result. */
int cli_run_seeds(const cli_arguments *arguments, int ranks);

#endif
