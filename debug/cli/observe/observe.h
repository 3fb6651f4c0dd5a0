/* One start of a program whose reports are gathered. */
#ifndef BG_CLI_OBSERVE_H
#define BG_CLI_OBSERVE_H

#include "debug/cli/process/child.h"
#include "gather.h"

typedef struct cli_observation {
    char *const *argv;
    const char *const *set; /* as cli_child's, beside BG_REPORT; at most 8 pairs */
    const char *place;      /* a directory of the command's own, for reports, output and errors */
    double timeout;
    /* No standard input; output and errors go to files "output" and "errors" in place; a group of its own. */
    bool quiet;
    int ranks; /* that are started; 0: the program alone */
} cli_observation;

/* What it left and how it ended. CLI_OK, or what the command itself could not do, said. */
cli_status cli_observe(const cli_observation *observation, cli_gathered *gathered, cli_end *end);

/* CLI_OK where the program came to its end by itself; else says how it did not, and shows the end of its errors. */
cli_status cli_observed_end(const cli_observation *observation, const cli_end *end);

/* CLI_OK where it captured and replayed; else says what it lacks, and shows the end of its errors. */
cli_status cli_observed_judge(const cli_observation *observation, const cli_gathered *gathered);

/* The end of its errors, where it was quiet. */
void cli_observed_show(const cli_observation *observation);

/* " (rank 1)" for messages, where there are several; as static text. */
const char *cli_observed_rank(const cli_observation *observation, const cli_end *end);

#endif
