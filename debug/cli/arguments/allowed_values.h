/* Checks values of flags and variables. */
#ifndef BG_CLI_ALLOWED_VALUES_H
#define BG_CLI_ALLOWED_VALUES_H

#include "base/variables.h"
#include "command.h"

/* Returns NULL if the flag accepts the value; else a text that says what it accepts, valid until the next call. Checks
 * paths only where the command itself writes, or reads patterns: a program may run in another directory. Call it before
 * the first CUDA call. */
const char *cli_flag_check_value(const cli_flag *flag, const char *value);
/* The same for a variable; an empty value counts as not set. paths: also checks the files and directories. */
const char *cli_variable_check_value(const bg__variable *variable, const char *value, bool paths);

/* Joins the lines of a file of patterns to one list, in place, as the library does. */
void cli_patterns_join(char *list);

#endif
