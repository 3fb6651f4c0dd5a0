/* Which values flags and variables may have. */
#ifndef BG_CLI_VALUES_H
#define BG_CLI_VALUES_H

#include "base/variables.h"
#include "command.h"

/* NULL where the flag may have value; else what it may have, as text that stays until the next call. Paths are looked
 * at where the command itself writes there, or reads patterns: a program may go elsewhere. Before the first CUDA call.
 */
const char *cli_flag_allowed(const cli_flag *flag, const char *value);
/* The same of a variable; an empty value is as if it were not set. paths: with what is to be there at paths. */
const char *cli_variable_allowed(const bg__variable *variable, const char *value, bool paths);

/* A file's lines of patterns become one list, as the library reads them. */
void cli_patterns_join(char *list);

#endif
