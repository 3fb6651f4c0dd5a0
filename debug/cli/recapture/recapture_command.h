/* breakgraph check --attach --what=recapture: runs a program twice, and compares what its graphs hold. */
#ifndef BG_CLI_RECAPTURE_H
#define BG_CLI_RECAPTURE_H

#include <stdio.h>

#include "debug/cli/arguments/command.h"
#include "debug/cli/observe/observe.h"

typedef struct cli_recapture {
    char *name;           /* the variable of --vary; NULL: none */
    const char *given[2]; /* its two values; they point into name */
    bool varied;          /* by --vary, or by the program */
    bool equal;           /* both runs were compared, and nothing differs */
    char labels[2][320];  /* of both runs: "with SCALE=0.5", "in the first run" */
} cli_recapture;

/* Reads --vary. chosen: --what=recapture runs, with --attach. */
cli_status cli_recapture_read(cli_recapture *recapture, const cli_arguments *arguments, bool chosen);
/* Runs the program twice, or until a run fails, with a message; a third time if something differs and an input was
 * varied. gathered: the reports of the second run, with the findings; end: of the run that has failed. */
cli_status cli_recapture_observe(cli_recapture *recapture, const cli_observation *plan, cli_gathered *gathered,
                                 cli_end *end);
/* If nothing differs, prints what that means. */
void cli_recapture_print(const cli_recapture *recapture, FILE *out);
void cli_recapture_clear(cli_recapture *recapture);

#endif
