#include "cli_json.h"

#include <stdio.h>

#include "debug/files/json.h"
#include "exits.h"

const char *cli_json_text(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text != NULL ? text : "";
}

double cli_json_number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

void cli_json_print(const cJSON *root)
{
    char *text = bg__json_text(root, true);
    if (text != NULL)
        printf("%s\n", text);
    else
        (void)cli_print_message(CLI_FAILED, "out of host memory for the JSON");
    cJSON_free(text);
}
