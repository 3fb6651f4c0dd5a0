/* breakgraph run: becomes a program, with the library's environment set. */
#include "cli.h"

#include <breakgraph/breakgraph.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cli_status set(const cli_given *given)
{
    const char *variable = given->flag->variable;
    if (strncmp(variable, "HOSTCUDA_", 9) == 0 && strcmp(bg_device_kind(), "host") != 0)
        return cli_say(CLI_USAGE, "%s is for the host device; this is built for NVIDIA's CUDA runtime",
                       given->flag->name);
    if (setenv(variable, given->value, 1) != 0)
        return cli_say(CLI_FAILED, "%s cannot be set: %s", variable, strerror(errno));
    return CLI_OK;
}

int cli_run(int argc, char **argv)
{
    cli_arguments arguments;
    bool done;
    cli_status status = cli_parse(argc, argv, &arguments, &done);

    if (!done)
        status = cli_need_program(&arguments);
    for (size_t i = 0; !done && status == CLI_OK && i < arguments.count; i++)
        status = set(&arguments.given[i]);
    if (!done && status == CLI_OK) {
        execvp(arguments.rest[0], arguments.rest);
        status = cli_say(CLI_NOT_STARTED, "'%s' cannot be started: %s", arguments.rest[0], strerror(errno));
    }
    cli_arguments_clear(&arguments);
    return status;
}
