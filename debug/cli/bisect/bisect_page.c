#include "bisect_page.h"

#include <breakgraph/breakgraph.h>
#include <stdlib.h>
#include <string.h>

#include "debug/cli/observe/gathered.h"
#include "debug/cli/output/exits.h"
#include "debug/cli/output/cli_json.h"
#include "debug/cli/output/cli_files.h"
#include "bisect_result.h"

static void add_culprit(cJSON *findings, const cJSON *call, bool alone)
{
    cJSON *finding = cJSON_CreateObject();
    cJSON_AddStringToObject(finding, "kind", "culprit");
    cJSON_AddStringToObject(finding, "severity", "fault");
    cJSON_AddStringToObject(finding, "call", cli_json_text(call, "name"));
    cJSON_AddStringToObject(finding, "file", cli_json_text(call, "file"));
    cJSON_AddNumberToObject(finding, "line", cli_json_number(call, "line"));
    cJSON_AddNullToObject(finding, "address");
    cJSON_AddStringToObject(finding, "message",
                            alone ? "the fault vanishes if this call is eager"
                                  : "the fault vanishes if all culprits are eager");
    cJSON_AddStringToObject(finding, "advice", "look for what its capture freezes: values, addresses, host code");
    cJSON_AddItemToArray(findings, finding);
}

static bool has_call(const cJSON *outline, const char *name)
{
    const cJSON *call;
    cJSON_ArrayForEach(call, cJSON_GetObjectItemCaseSensitive(outline, "calls"))
    {
        if (strcmp(cli_json_text(call, "name"), name) == 0 &&
            !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(call, "eager")))
            return true;
    }
    return false;
}

/* Returns the first of the graphs that have the most culprits. */
static const cJSON *choose_outline(const cli_bisection *b)
{
    const cJSON *outline, *chosen = NULL;
    size_t most = 0;
    cJSON_ArrayForEach(outline, cJSON_GetObjectItemCaseSensitive(b->root, "outlines"))
    {
        size_t has = 0;
        for (size_t i = 0; i < b->found; i++)
            has += has_call(outline, b->names[b->culprits[i]]);
        if (chosen == NULL || has > most) {
            chosen = outline;
            most = has;
        }
    }
    return chosen;
}

static char *make_report(const cli_bisection *b)
{
    cJSON *root = cJSON_CreateObject(), *findings;
    const cJSON *outline = choose_outline(b);
    char *text;

    cJSON_AddStringToObject(root, "breakgraph", bg_version());
    cJSON_AddNumberToObject(root, "report_version", CLI_REPORT_VERSION);
    cJSON_AddStringToObject(root, "tool", "bisect");
    cJSON_AddStringToObject(root, "graph", cli_json_text(outline, "name"));
    cJSON_AddNumberToObject(root, "lost", 0);
    findings = cJSON_AddArrayToObject(root, "findings");
    for (size_t i = 0; i < b->found; i++)
        add_culprit(findings, cJSON_GetArrayItem(b->calls, (int)b->culprits[i]), b->found == 1);
    if (outline != NULL)
        cJSON_AddItemToObject(root, "outline", cJSON_Duplicate(outline, true));
    cJSON_AddItemToObject(root, "trials", cli_bisect_trials(b));
    text = cJSON_Print(root);
    cJSON_Delete(root);
    return text;
}

cli_status cli_bisect_write_page(const cli_bisection *b)
{
    char *path = cli_join_path(b->place, "bisect.json"), *text = make_report(b);
    bg_report *report = NULL;
    cli_status status = CLI_OK;

    if (path == NULL || text == NULL || !cli_file_write(path, BG__FILE_GENERATED, text))
        status = cli_print_message(CLI_FAILED, "the page cannot be made in %s", b->place);
    else if (bg_report_read(&report, path) != BG_OK || bg_report_write(report, BG_HTML, b->html) != BG_OK)
        status = cli_print_message(CLI_FAILED, "%s", bg_last_error());
    bg_report_destroy(report);
    cJSON_free(text);
    free(path);
    return status;
}
