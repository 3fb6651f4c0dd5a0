#include "bisect_fusions.h"

#include <string.h>

#include "bisect_calls.h"
#include "debug/cli/output/cli_json.h"

static bool is_listed(const cJSON *calls, const char *name)
{
    const cJSON *call;
    cJSON_ArrayForEach(call, calls)
    {
        if (strcmp(cli_json_text(call, "name"), name) == 0)
            return true;
    }
    return false;
}

static bool add_fused_run(cJSON *calls, const cJSON *fusion)
{
    cJSON *copy = cJSON_CreateObject();
    if (copy != NULL && cJSON_AddStringToObject(copy, "name", cli_json_text(fusion, "name")) &&
        cJSON_AddStringToObject(copy, "op", cli_json_text(fusion, "op")) &&
        cJSON_AddStringToObject(copy, "run", cli_json_text(fusion, "run")) &&
        cJSON_AddStringToObject(copy, "file", cli_json_text(fusion, "file")) &&
        cJSON_AddNumberToObject(copy, "line", cli_json_number(fusion, "line")) && cJSON_AddItemToArray(calls, copy))
        return true;
    cJSON_Delete(copy);
    return false;
}

static cli_status add_fused_runs(const cJSON *graph, const char *only, cJSON *calls)
{
    const cJSON *outline = cJSON_GetObjectItemCaseSensitive(graph, "outline");
    const cJSON *compilation = cJSON_GetObjectItemCaseSensitive(outline, "compilation"), *fusion;
    cJSON_ArrayForEach(fusion, cJSON_GetObjectItemCaseSensitive(compilation, "fusions"))
    {
        const char *name = cli_json_text(fusion, "name");
        if (strcmp(cli_json_text(fusion, "state"), "applied") != 0 || is_listed(calls, name) ||
            (only != NULL && !cli_calls_match(only, name)))
            continue;
        if (!add_fused_run(calls, fusion))
            return cli_print_message(CLI_FAILED, "out of host memory");
    }
    return CLI_OK;
}

cli_status cli_fusions_collect(const cli_gathered *gathered, const char *only, cJSON *calls)
{
    const cJSON *graph;
    cli_status status = CLI_OK;

    cJSON_ArrayForEach(graph, gathered->captured)
    {
        if (status == CLI_OK)
            status = add_fused_runs(graph, only, calls);
    }
    if (status == CLI_OK && cJSON_GetArraySize(calls) == 0)
        status = only != NULL
                     ? cli_print_message(CLI_NO_MATCH, "--only=%s matches no run of calls that a rule has fused", only)
                     : cli_print_message(CLI_NO_MATCH,
                                         "no rule has fused anything in the program's graphs; declare rules with "
                                         "BG_RULE, and BG_COMPILE=1 prints what forbids them");
    return status;
}
