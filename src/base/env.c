/* Reads environment variables as their table (base/variables.c) describes them. */
#include "base/base.h"
#include "base/variables.h"

#include <stdlib.h>

const char *bg__env_value(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static bg_status reject_value(const bg__variable *variable, const char *value)
{
    char allowed[BG__ALLOWED_BYTES];
    return bg__fail(BG_ERROR_INVALID_ARGUMENT, "the environment variable %s is \"%s\"; allowed are %s", variable->name,
                    value, bg__variable_describe_allowed(variable, value, allowed));
}

bg_status bg__env_choice(const char *name, int *index)
{
    const bg__variable *variable = bg__variable_find(name);
    const char *value = bg__env_value(name);
    *index = 0;
    (void)bg__variable_parse_choice(variable, variable->fallback, index);
    return value == NULL || bg__variable_parse_choice(variable, value, index) ? BG_OK : reject_value(variable, value);
}

bg_status bg__env_choices(const char *name, unsigned *set)
{
    const bg__variable *variable = bg__variable_find(name);
    const char *value = bg__env_value(name);
    (void)bg__variable_parse_choices(variable, variable->fallback, set);
    return value == NULL || bg__variable_parse_choices(variable, value, set) ? BG_OK : reject_value(variable, value);
}

bg_status bg__env_flag(const char *name, bool *flag)
{
    int index;
    bg_status status = bg__env_choice(name, &index);
    *flag = index == 1;
    return status;
}

bg_status bg__env_number(const char *name, double *number)
{
    const bg__variable *variable = bg__variable_find(name);
    const char *value = bg__env_value(name);
    (void)bg__variable_parse_number(variable, variable->fallback, number);
    return value == NULL || bg__variable_parse_number(variable, value, number) ? BG_OK : reject_value(variable, value);
}
