/* The parts of the command breakgraph. It uses the public headers alone. */
#ifndef BG_CLI_CLI_H
#define BG_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

/* Exit statuses of the command. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* An environment variable of the library: its name, what it does, and the values that it may have, "a|b|c"; or NULL for
 * a list of op patterns. */
typedef struct cli_variable {
    const char *name, *choices, *text;
} cli_variable;
extern const cli_variable cli_variables[];
extern const size_t cli_variables_count;

/* NULL where value is allowed; else what is, as static text. */
const char *cli_variable_allowed(const cli_variable *variable, const char *value);

/* The commands; argv[0] is the command's name. */
int cli_doctor(int argc, char **argv);
int cli_run(int argc, char **argv);

#endif
