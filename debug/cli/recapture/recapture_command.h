/* breakgraph check --attach --what=recapture: runs a program twice, and compares what its graphs hold. */
#ifndef BG_CLI_RECAPTURE_H
#define BG_CLI_RECAPTURE_H

#include <stdio.h>

#include "debug/cli/arguments/command.h"
#include "debug/cli/observe/observe.h"

typedef struct cli_recapture {
    char *name;           /* of the variable of --vary; NULL: none */
    const char *given[2]; /* its values, in name's memory */
    bool varied;          /* by --vary, or by the program */
    bool equal;           /* both runs were compared, and nothing differs */
    char labels[2][320];  /* of both runs: "with SCALE=0.5", "in the first run" */
} cli_recapture;

/* Reads --vary. chosen: --what=recapture runs, with --attach. */
cli_status cli_recapture_read(cli_recapture *recapture, const cli_arguments *arguments, bool chosen);
/* Runs the program twice, or until a run fails, which is said; a third time where something differs because of --vary,
 * perhaps. gathered: of the last run of the two,
 * with the findings; end: of the one that has failed. */
cli_status cli_recapture_observe(cli_recapture *recapture, const cli_observation *plan, cli_gathered *gathered,
                                 cli_end *end);
/* What it means that nothing differs. */
void cli_recapture_print(const cli_recapture *recapture, FILE *out);
void cli_recapture_clear(cli_recapture *recapture);

#endif
