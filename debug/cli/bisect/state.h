/* The verdicts of a bisect in a file, from which the same command goes on. */
#ifndef BG_CLI_STATE_H
#define BG_CLI_STATE_H

#include "bisection.h"

/* Takes the file over, or begins with none. CLI_UNREADABLE, and said, where it is not this command's. */
cli_status cli_state_load(cli_bisection *b);
cli_status cli_state_save(const cli_bisection *b);
/* names follow calls. */
cli_status cli_state_name(cli_bisection *b);

#endif
