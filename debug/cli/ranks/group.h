/* The running processes of a job, for the code that starts them and the code that waits for them. */
#ifndef BG_CLI_GROUP_H
#define BG_CLI_GROUP_H

#include "debug/cli/output/forward_output.h"
#include "debug/cli/process/supervisor.h"
#include "cli_job.h"
#include "plan.h"

enum { CLI_SINK_OUTPUT, CLI_SINK_ERRORS, CLI_SINK_INPUT, CLI_SINKS, CLI_SOURCES_MOST = 2 * CLI_RANKS_MOST + 1 };

typedef struct cli_group {
    const cli_ranks *plan;
    cli_job job;
    int started;
    cli_supervisor keepers[CLI_RANKS_MOST];
    cli_sink sinks[CLI_SINKS];
    cli_source sources[CLI_SOURCES_MOST];
    int source_count;
} cli_group;

/* Call it before the first rank is started. */
void cli_group_open(cli_group *group);
/* Starts the next rank; false with errno. */
bool cli_group_start_rank(cli_group *group);
void cli_group_signal(const cli_group *group, int signal);
/* Kills what ended ranks have left running, in their process groups and outside of them. */
void cli_group_kill(cli_group *group);
void cli_group_close(cli_group *group);

#endif
