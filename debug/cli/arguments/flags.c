#include "flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "help.h"
#include "values.h"

static const cli_flag *find_flag(const cli_command *command, const char *argument, size_t length)
{
    const cli_flag *flag;
    for (size_t i = 0; (flag = cli_command_flag(command, i)) != NULL; i++)
        if (strncmp(flag->name, argument, length) == 0 && flag->name[length] == '\0')
            break;
    return flag;
}

static cli_status refuse_unknown(const cli_command *command, const char *argument)
{
    const cli_flag *flag;
    cli_print(stderr, "breakgraph %s: unknown flag '%s'; allowed:", command->name, argument);
    for (size_t i = 0; (flag = cli_command_flag(command, i)) != NULL; i++)
        fprintf(stderr, " %s%s%s", flag->name, flag->value != NULL ? "=" : "", flag->value != NULL ? flag->value : "");
    fprintf(stderr, " --help\n");
    return CLI_USAGE;
}

static cli_status read_flag(const cli_command *command, const char *argument, cli_given *given)
{
    size_t length = strcspn(argument, "=");
    const cli_flag *flag = find_flag(command, argument, length);
    const char *value = argument[length] == '=' ? argument + length + 1 : NULL, *allowed;

    if (flag == NULL)
        return refuse_unknown(command, argument);
    if (value != NULL && flag->value == NULL)
        return cli_say(CLI_USAGE, "'%s': %s takes no value", argument, flag->name);
    if (flag->value != NULL && (value != NULL ? value[0] == '\0' : flag->without == NULL))
        return cli_say(CLI_USAGE, "'%s' needs a value: %s=%s", argument, flag->name, flag->value);
    allowed = value != NULL ? cli_flag_allowed(flag, value) : NULL;
    if (allowed != NULL)
        return cli_say(CLI_USAGE, "'%s': allowed are %s", argument, allowed);
    given->flag = flag;
    given->value = value != NULL ? value : flag->without != NULL ? flag->without : "";
    return CLI_OK;
}

/* Reads what stands behind a command's name. CLI_OK; else it has said what is wrong, or shown the help: *done. */
static cli_status parse(const cli_command *command, int argc, char **argv, cli_arguments *arguments, bool *done)
{
    cli_status status = CLI_OK;
    int i = 1;

    *arguments = (cli_arguments){.given = calloc((size_t)argc, sizeof *arguments->given)};
    *done = true;
    cli_say_for(command->name);
    if (arguments->given == NULL)
        return cli_say(CLI_FAILED, "no host memory");
    for (; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            cli_help_print(command, stdout);
            return CLI_OK;
        }
        status = read_flag(command, argv[i], &arguments->given[arguments->count]);
        if (status != CLI_OK)
            return status;
        arguments->count++;
    }
    arguments->program = i < argc && strcmp(argv[i], "--") == 0;
    i += arguments->program;
    arguments->rest = argv + i;
    arguments->rest_count = argc - i;
    if (arguments->rest_count > 0 && command->arguments[0] == '\0')
        return cli_say(CLI_USAGE, "unknown argument '%s'; it takes none", arguments->rest[0]);
    *done = false;
    return CLI_OK;
}

int cli_command_run(const cli_command *command, int argc, char **argv)
{
    cli_arguments arguments;
    bool done;
    int status = parse(command, argc, argv, &arguments, &done);
    if (!done)
        status = command->run(&arguments);
    free(arguments.given);
    return status;
}

const char *cli_value(const cli_arguments *arguments, const char *flag)
{
    for (size_t i = arguments->count; i > 0; i--)
        if (strcmp(arguments->given[i - 1].flag->name, flag) == 0)
            return arguments->given[i - 1].value;
    return NULL;
}

cli_status cli_need_program(const cli_arguments *arguments)
{
    if (arguments->rest_count > 0)
        return CLI_OK;
    return cli_say(CLI_USAGE, "no program given; write: ... -- PROGRAM ARG...");
}

cli_status cli_timeout(const cli_arguments *arguments, double *seconds)
{
    const char *value = cli_value(arguments, "--timeout");
    *seconds = 0;
    if (value != NULL && (!bg__number_read(value, seconds) || !(*seconds > 0) || *seconds > 1e6))
        return cli_say(CLI_USAGE, "'--timeout=%s': a number of seconds above 0", value);
    return CLI_OK;
}
