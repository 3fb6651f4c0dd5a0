/* breakgraph run: a program with the library's environment set. */
#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct flag {
    const char *name, *variable, *value; /* value NULL: the flag carries it, --name=VALUE */
} flag;

static const flag flags[] = {
    {"--debug=", "BG_DEBUG", NULL},       {"--eager-ops=", "BG_EAGER_OPS", NULL},
    {"--no-breaks", "BG_BREAKABLE", "0"}, {"--foreign-inline", "BG_FOREIGN_INLINE", "1"},
    {"--nvtx", "BG_NVTX", "1"},
};

static const cli_variable *find_variable(const char *name)
{
    size_t i = 0;
    while (i + 1 < cli_variables_count && strcmp(cli_variables[i].name, name) != 0)
        i++;
    return &cli_variables[i];
}

static int unknown(const char *argument)
{
    fprintf(stderr,
            "breakgraph run: unknown flag '%s'; allowed: --debug=off|forward|ops|sync|step --eager-ops=PATTERNS "
            "--no-breaks "
            "--foreign-inline --nvtx -- PROGRAM ARG...\n",
            argument);
    return CLI_USAGE;
}

static int set_flag(const char *argument)
{
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const flag *flag = &flags[i];
        size_t length = strlen(flag->name);
        const char *value = flag->value, *allowed;
        if (value == NULL && strncmp(argument, flag->name, length) == 0)
            value = argument + length;
        else if (value == NULL || strcmp(argument, flag->name) != 0)
            continue;
        allowed = cli_variable_allowed(find_variable(flag->variable), value);
        if (allowed != NULL) {
            fprintf(stderr, "breakgraph run: '%s': allowed are %s\n", argument, allowed);
            return CLI_USAGE;
        }
        if (setenv(flag->variable, value, 1) != 0) {
            perror("breakgraph run");
            return CLI_FAILED;
        }
        return CLI_OK;
    }
    return unknown(argument);
}

int cli_run(int argc, char **argv)
{
    int i = 1, status;
    for (; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++)
        if ((status = set_flag(argv[i])) != CLI_OK)
            return status;
    if (i < argc && strcmp(argv[i], "--") == 0)
        i++;
    if (i == argc) {
        fprintf(stderr, "breakgraph run: no program given; write: breakgraph run [FLAG...] -- PROGRAM ARG...\n");
        return CLI_USAGE;
    }
    execvp(argv[i], argv + i);
    fprintf(stderr, "breakgraph run: '%s' cannot be started: %s\n", argv[i], strerror(errno));
    return CLI_FAILED;
}
