/* Runs a program once and gathers its reports. */
#ifndef BG_CLI_OBSERVE_H
#define BG_CLI_OBSERVE_H

#include "debug/cli/process/child.h"
#include "gather.h"

typedef struct cli_observation {
    char *const *argv;
    const char *const *set; /* as in cli_child, without BG_REPORT; at most 8 pairs */
    const char *place;      /* a temporary directory for reports, output and errors */
    double timeout;
    /* No standard input; output and errors go to the files "output" and "errors" in place; its own process group. */
    bool quiet;
    bool hangs; /* if it is killed after timeout, the node in which it hangs is reported */
    int ranks;  /* how many ranks are started; 0: the program alone */
} cli_observation;

/* Runs the program, and returns its reports and how it ended. Prints errors of the command itself. */
cli_status cli_observe(const cli_observation *observation, cli_gathered *gathered, cli_end *end);

/* CLI_OK if the program exited by itself; else prints how it ended, and the last lines of its errors. */
cli_status cli_observed_print_end(const cli_observation *observation, const cli_end *end);

/* CLI_OK if the program captured and replayed; else prints what is missing, and the last lines of its errors. */
cli_status cli_observed_check_replays(const cli_observation *observation, const cli_gathered *gathered);

/* If the program was quiet, prints the last lines of its errors, or of its output if it wrote no errors. */
void cli_observed_show(const cli_observation *observation);

/* " (rank 1)" for messages, if there are several ranks; static text. */
const char *cli_observed_rank_text(const cli_observation *observation, const cli_end *end);

#endif
