#include "command.h"

#include "base/variables.h"

const char *cli_flag_value_syntax(const cli_flag *flag)
{
    return flag->variable != NULL ? bg__variable_find(flag->variable)->values : flag->value;
}

const char *cli_flag_separator(const cli_flag *flag)
{
    if (cli_flag_value_syntax(flag) == NULL)
        return "";
    return flag->name[1] == '-' ? "=" : " ";
}

const cli_flag *cli_command_flag(const cli_command *command, size_t i)
{
    for (const cli_flag *const *list = command->flags; *list != NULL; list++)
        for (const cli_flag *flag = *list; flag->name != NULL; flag++)
            if (i-- == 0)
                return flag;
    return NULL;
}
