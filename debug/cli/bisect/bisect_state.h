/* Keeps the verdicts of a bisect in a file, from which the same command continues. */
#ifndef BG_CLI_STATE_H
#define BG_CLI_STATE_H

#include "bisection.h"

/* Loads the file, or begins a new one. CLI_UNREADABLE, with a message, if it belongs to another command. */
cli_status cli_state_load(cli_bisection *b);
cli_status cli_state_save(const cli_bisection *b);
/* Sets the member `names` from `calls`. */
cli_status cli_state_set_names(cli_bisection *b);

#endif
