#include "command.h"

const cli_flag *cli_command_flag(const cli_command *command, size_t i)
{
    for (const cli_flag *const *list = command->flags; *list != NULL; list++)
        for (const cli_flag *flag = *list; flag->name != NULL; flag++)
            if (i-- == 0)
                return flag;
    return NULL;
}
