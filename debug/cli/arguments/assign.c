#include "assign.h"

#include <breakgraph/breakgraph.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allowed_values.h"

/* The prefix that the name shares with many others; a search for similar names ignores it. NULL: none. */
static const char *variable_prefix(const char *name)
{
    static const char *const leads[] = {"BG_RUNNER_", "BG_", "HOSTCUDA_"};
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++)
        if (strncmp(name, leads[i], strlen(leads[i])) == 0)
            return leads[i];
    return NULL;
}

bool cli_variable_is_unknown(const char *name, char hint[BG__HINT_BYTES])
{
    const char *lead = variable_prefix(name);
    size_t bytes = lead != NULL ? strlen(lead) : 0;
    bg__nearest nearest = bg__nearest_begin(name + bytes, strlen(name + bytes));

    if (lead == NULL || bg__variable_find(name) != NULL)
        return false;
    for (size_t i = 0; i < bg__variables_count; i++)
        if (strncmp(bg__variables[i].name, lead, bytes) == 0)
            bg__nearest_add(&nearest, bg__variables[i].name + bytes, strlen(bg__variables[i].name + bytes));
    bg__nearest_hint(&nearest, lead, hint);
    return true;
}

static cli_status check_assignment(const char *text, const char *name, const char *value)
{
    const bg__variable *variable = bg__variable_find(name);
    char hint[BG__HINT_BYTES];
    const char *allowed;
    if (cli_variable_is_unknown(name, hint))
        return cli_print_message(CLI_USAGE, "'-e %s': there is no variable %s%s; 'breakgraph --help' lists them", text,
                                 name, hint);
    if (variable == NULL)
        return CLI_OK;
    if (strcmp(variable->group, "host") == 0 && strcmp(bg_device_kind(), "host") != 0)
        return cli_print_message(
            CLI_USAGE, "'-e %s': %s is for the host device; this breakgraph is built for NVIDIA's CUDA runtime", text,
            name);
    allowed = cli_variable_check_value(variable, value, false);
    return allowed == NULL ? CLI_OK : cli_print_message(CLI_USAGE, "'-e %s': allowed are %s", text, allowed);
}

cli_status cli_assignment_check(const char *text)
{
    const char *value = text != NULL ? strchr(text, '=') : NULL;
    cli_status status;
    char *name;

    if (value == NULL || value == text)
        return cli_print_message(CLI_USAGE, "'-e%s%s' sets nothing; write -e NAME=VALUE", text != NULL ? " " : "",
                                 text != NULL ? text : "");
    name = strndup(text, (size_t)(value - text));
    if (name == NULL)
        return cli_print_message(CLI_FAILED, "out of host memory");
    status = check_assignment(text, name, value + 1);
    free(name);
    return status;
}

static bool set_variable(const cli_given_flag *given)
{
    const char *value = strchr(given->value, '=');
    char *name;
    bool done;

    if (given->flag->variable != NULL)
        return setenv(given->flag->variable, given->value, 1) == 0;
    name = strndup(given->value, (size_t)(value - given->value));
    done = name != NULL && setenv(name, value + 1, 1) == 0;
    free(name);
    return done;
}

cli_status cli_set_variables(const cli_arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++) {
        const cli_given_flag *given = &arguments->given[i];
        if ((given->flag->variable != NULL || strcmp(given->flag->name, "-e") == 0) && !set_variable(given))
            return cli_print_message(CLI_FAILED, "'%s' cannot be set: %s", given->value, strerror(errno));
    }
    return CLI_OK;
}
