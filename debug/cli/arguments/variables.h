/* The variables that the library and the host device read, each with the flag of run that sets it. */
#ifndef BG_CLI_VARIABLES_H
#define BG_CLI_VARIABLES_H

#include "command.h"

extern const cli_flag cli_variables[]; /* as a command's list of flags */
extern const size_t cli_variables_count;

#endif
