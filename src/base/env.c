#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bg_status bg__env_choice(const char *variable, const char *const *choices, int fallback, int *index)
{
    const char *value = getenv(variable);
    char allowed[256] = "";
    size_t used = 0;

    *index = fallback;
    if (value == NULL || value[0] == '\0')
        return BG_OK;
    for (int i = 0; choices[i] != NULL; i++) {
        if (strcmp(value, choices[i]) == 0) {
            *index = i;
            return BG_OK;
        }
        if (used < sizeof allowed)
            used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%s", i ? ", " : "", choices[i]);
    }
    return bg__fail(BG_ERROR_INVALID_ARGUMENT, "the environment variable %s is \"%s\"; allowed are: %s", variable,
                    value, allowed);
}

bg_status bg__env_flag(const char *variable, bool fallback, bool *flag)
{
    static const char *const choices[] = {"0", "1", NULL};
    int index;
    bg_status status = bg__env_choice(variable, choices, fallback, &index);
    *flag = index == 1;
    return status;
}
