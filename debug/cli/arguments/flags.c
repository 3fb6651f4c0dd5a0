#include "flags.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assign.h"
#include "base/text.h"
#include "help.h"
#include "allowed_values.h"

static const cli_flag *find_flag(const cli_command *command, const char *argument, size_t length)
{
    const cli_flag *flag;
    for (size_t i = 0; (flag = cli_command_flag(command, i)) != NULL; i++)
        if (strncmp(flag->name, argument, length) == 0 && flag->name[length] == '\0')
            break;
    return flag;
}

/* The variable that a flag of earlier versions set, such as HOSTCUDA_SEED for "--host-seed", or BG_DOT for "--dot".
 * NULL: none. */
static const bg__variable *find_former_variable(const char *flag, size_t length)
{
    bool host = strncmp(flag, "--host-", 7) == 0;
    size_t lead = host ? 7 : 2;
    char name[64];
    int used = snprintf(name, sizeof name, "%s%.*s", host ? "HOSTCUDA_" : "BG_",
                        length > lead ? (int)(length - lead) : 0, flag + lead);
    if (length == strlen("--no-breaks") && strncmp(flag, "--no-breaks", length) == 0)
        return bg__variable_find("BG_BREAKABLE");
    for (int i = 0; i < used && i < (int)sizeof name; i++)
        name[i] = (char)(name[i] == '-' ? '_' : toupper((unsigned char)name[i]));
    return bg__variable_find(name);
}

static cli_status reject_unknown_flag(const cli_command *command, const char *argument, size_t length)
{
    bool sets = find_flag(command, "-e", 2) != NULL;
    bool dashed = length > 2 && memchr(argument, '_', length) == NULL;
    const bg__variable *variable = sets && dashed ? find_former_variable(argument, length) : NULL;
    bg__nearest nearest = bg__nearest_begin(argument + 2, length > 2 ? length - 2 : 0);
    char hint[BG__HINT_BYTES];
    const cli_flag *flag;

    if (variable != NULL)
        return cli_print_message(CLI_USAGE, "'%s': %.*s is now -e %s=%s", argument, (int)length, argument,
                                 variable->name, variable->values);
    for (size_t i = 0; (flag = cli_command_flag(command, i)) != NULL; i++)
        if (flag->name[1] == '-')
            bg__nearest_add(&nearest, flag->name + 2, strlen(flag->name + 2));
    bg__nearest_add(&nearest, "help", strlen("help"));
    return cli_print_message(CLI_USAGE, "unknown flag '%s'%s; 'breakgraph help %s' lists the flags", argument,
                             bg__nearest_hint(&nearest, "--", hint), command->name);
}

/* "--flag" or "--flag=VALUE". */
static cli_status parse_flag(const cli_command *command, const char *argument, cli_given_flag *given)
{
    size_t length = strcspn(argument, "=");
    const cli_flag *flag = find_flag(command, argument, length);
    const char *value = argument[length] == '=' ? argument + length + 1 : NULL, *takes, *allowed;

    if (flag == NULL)
        return reject_unknown_flag(command, argument, length);
    takes = cli_flag_value_syntax(flag);
    if (value != NULL && takes == NULL)
        return cli_print_message(CLI_USAGE, "'%s': %s takes no value", argument, flag->name);
    if (takes != NULL && (value != NULL ? value[0] == '\0' : flag->without == NULL))
        return cli_print_message(CLI_USAGE, "'%s' needs a value: %s=%s", argument, flag->name, takes);
    allowed = value != NULL ? cli_flag_check_value(flag, value) : NULL;
    if (allowed != NULL)
        return cli_print_message(CLI_USAGE, "'%s': allowed are %s", argument, allowed);
    given->flag = flag;
    given->value = value != NULL ? value : flag->without != NULL ? flag->without : "";
    return CLI_OK;
}

/* -e and its argument. */
static cli_status parse_assignment(const cli_command *command, const char *assignment, cli_given_flag *given)
{
    *given = (cli_given_flag){.flag = find_flag(command, "-e", 2), .value = assignment};
    return given->flag == NULL ? reject_unknown_flag(command, "-e", 2) : cli_assignment_check(assignment);
}

/* Parses what follows the command's name. *done: there is nothing to run, since help or an error was printed. */
static cli_status parse_flags(const cli_command *command, int argc, char **argv, cli_arguments *arguments, bool *done)
{
    cli_status status = CLI_OK;
    cli_given_flag *given;
    int i = 1;

    *arguments = (cli_arguments){.given = calloc((size_t)argc, sizeof *arguments->given)};
    *done = true;
    cli_set_command_name(command->name);
    if (arguments->given == NULL)
        return cli_print_message(CLI_FAILED, "out of host memory");
    for (; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            cli_help_print(command, stdout);
            return CLI_OK;
        }
        given = &arguments->given[arguments->count];
        if (strcmp(argv[i], "-e") == 0)
            status = parse_assignment(command, argv[++i], given); /* argv ends with NULL */
        else if (strncmp(argv[i], "-e=", 3) == 0)
            status = cli_print_message(CLI_USAGE, "'%s': write -e NAME=VALUE", argv[i]);
        else
            status = parse_flag(command, argv[i], given);
        if (status != CLI_OK)
            return status;
        arguments->count++;
    }
    arguments->program = i < argc && strcmp(argv[i], "--") == 0;
    i += arguments->program;
    arguments->rest = argv + i;
    arguments->rest_count = argc - i;
    if (arguments->rest_count > 0 && command->arguments[0] == '\0')
        return cli_print_message(CLI_USAGE, "unknown argument '%s'; the command takes no arguments",
                                 arguments->rest[0]);
    *done = false;
    return CLI_OK;
}

int cli_command_run(const cli_command *command, int argc, char **argv)
{
    cli_arguments arguments;
    bool done;
    int status = parse_flags(command, argc, argv, &arguments, &done);
    if (!done)
        status = cli_set_variables(&arguments);
    if (!done && status == CLI_OK)
        status = command->run(&arguments);
    free(arguments.given);
    return status;
}

const char *cli_given_value(const cli_arguments *arguments, const char *flag)
{
    for (size_t i = arguments->count; i > 0; i--)
        if (strcmp(arguments->given[i - 1].flag->name, flag) == 0)
            return arguments->given[i - 1].value;
    return NULL;
}

cli_status cli_require_program(const cli_arguments *arguments)
{
    if (arguments->rest_count > 0)
        return CLI_OK;
    return cli_print_message(CLI_USAGE, "no program given; write: ... -- PROGRAM ARG...");
}

cli_status cli_read_timeout(const cli_arguments *arguments, double *seconds)
{
    const char *value = cli_given_value(arguments, "--timeout");
    *seconds = 0;
    if (value != NULL && (!bg__parse_number(value, seconds) || !(*seconds > 0) || *seconds > 1e6))
        return cli_print_message(CLI_USAGE, "'--timeout=%s': allowed are seconds above 0, up to 1000000", value);
    return CLI_OK;
}
