#include "assign.h"

#include <breakgraph/breakgraph.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "values.h"

enum { LONGEST = 128 }; /* bytes of a name that cli_distance compares */

size_t cli_distance(const char *a, size_t a_length, const char *b)
{
    size_t costs[LONGEST + 1], length = strlen(b);
    if (length > LONGEST)
        return LONGEST;
    for (size_t i = 0; i <= length; i++)
        costs[i] = i;
    for (size_t k = 0; k < a_length; k++) {
        size_t diagonal = costs[0]++;
        for (size_t i = 1; i <= length; i++) {
            size_t changed = diagonal + (a[k] != b[i - 1]);
            size_t moved = (costs[i] < costs[i - 1] ? costs[i] : costs[i - 1]) + 1;
            diagonal = costs[i];
            costs[i] = changed < moved ? changed : moved;
        }
    }
    return costs[length];
}

const bg__variable *cli_variable_meant(const char *name)
{
    const bg__variable *nearest = &bg__variables[0];
    bool ours = strncmp(name, "BG_", 3) == 0 || strncmp(name, "HOSTCUDA_", 9) == 0;
    if (!ours || bg__variable_find(name) != NULL)
        return NULL;
    for (size_t i = 1; i < bg__variables_count; i++)
        if (cli_distance(name, strlen(name), bg__variables[i].name) < cli_distance(name, strlen(name), nearest->name))
            nearest = &bg__variables[i];
    return nearest;
}

static cli_status check(const char *text, const char *name, const char *value)
{
    const bg__variable *variable = bg__variable_find(name), *meant = cli_variable_meant(name);
    const char *allowed;
    if (meant != NULL)
        return cli_say(CLI_USAGE, "'-e %s': there is no variable %s; the nearest is %s", text, name, meant->name);
    if (variable == NULL)
        return CLI_OK;
    if (strcmp(variable->group, "host") == 0 && strcmp(bg_device_kind(), "host") != 0)
        return cli_say(CLI_USAGE,
                       "'-e %s': %s is for the host device; this breakgraph is built for NVIDIA's CUDA runtime", text,
                       name);
    allowed = cli_variable_allowed(variable, value, false);
    return allowed == NULL ? CLI_OK : cli_say(CLI_USAGE, "'-e %s': allowed are %s", text, allowed);
}

cli_status cli_assignment_check(const char *text)
{
    const char *value = text != NULL ? strchr(text, '=') : NULL;
    cli_status status;
    char *name;

    if (value == NULL || value == text)
        return cli_say(CLI_USAGE, "'-e%s%s' sets nothing; write -e NAME=VALUE", text != NULL ? " " : "",
                       text != NULL ? text : "");
    name = strndup(text, (size_t)(value - text));
    if (name == NULL)
        return cli_say(CLI_FAILED, "out of host memory");
    status = check(text, name, value + 1);
    free(name);
    return status;
}

static bool set(const cli_given *given)
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

cli_status cli_assign(const cli_arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++) {
        const cli_given *given = &arguments->given[i];
        if ((given->flag->variable != NULL || strcmp(given->flag->name, "-e") == 0) && !set(given))
            return cli_say(CLI_FAILED, "'%s' cannot be set: %s", given->value, strerror(errno));
    }
    return CLI_OK;
}
