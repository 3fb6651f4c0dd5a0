#include "json.h"

#include "debug/report/json.h"

void cli_json_print(const cJSON *root)
{
    char *text = bg__json_text(root, true);
    if (text != NULL)
        printf("%s\n", text);
    else
        (void)cli_say(CLI_FAILED, "no host memory for the JSON");
    cJSON_free(text);
}
