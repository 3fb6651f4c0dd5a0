/* Writes reports as JSON. */
#include "report.h"
#include "report_data.h"

#include "debug/files/json.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds the member "others". Only findings on several calls have it. */
static bool add_other_calls(cJSON *item, const bg_finding *f)
{
    const char *at = f->others;
    cJSON *list = at[0] != '\0' ? cJSON_AddArrayToObject(item, "others") : NULL;
    bool good = at[0] == '\0' || list != NULL;

    while (good && *at != '\0') {
        const char *end = strstr(at, ", ");
        char *name = end != NULL ? strndup(at, (size_t)(end - at)) : strdup(at);
        cJSON *one = name != NULL ? cJSON_CreateString(name) : NULL;
        good = one != NULL && cJSON_AddItemToArray(list, one);
        free(name);
        at = end != NULL ? end + 2 : "";
    }
    return good;
}

static bool add_finding_to_json(cJSON *list, const bg_finding *f)
{
    char address[32];
    cJSON *item = bg__json_add_object(list);

    snprintf(address, sizeof address, "%p", f->address);
    return item != NULL && cJSON_AddStringToObject(item, "kind", f->kind) &&
           cJSON_AddStringToObject(item, "severity", bg__severity_names[f->severity]) &&
           cJSON_AddStringToObject(item, "call", f->call) && cJSON_AddStringToObject(item, "file", f->file) &&
           cJSON_AddNumberToObject(item, "line", f->line) &&
           (f->address != NULL ? cJSON_AddStringToObject(item, "address", address)
                               : cJSON_AddNullToObject(item, "address")) &&
           cJSON_AddStringToObject(item, "message", f->message) && cJSON_AddStringToObject(item, "advice", f->advice) &&
           (f->graph == NULL || cJSON_AddStringToObject(item, "graph", f->graph)) && add_other_calls(item, f);
}

/* Adds references to the parts, which the report still owns. */
static bool add_part_references(const bg_report *report, cJSON *root)
{
    cJSON *part;
    cJSON_ArrayForEach(part, report->parts)
    {
        if (!cJSON_AddItemReferenceToObject(root, part->string, part))
            return false;
    }
    return true;
}

static bool fill_report_object(const bg_report *report, cJSON *root)
{
    cJSON *list;
    if (!cJSON_AddStringToObject(root, "breakgraph", bg_version()) ||
        !cJSON_AddNumberToObject(root, "report_version", BG__REPORT_VERSION) ||
        !cJSON_AddStringToObject(root, "tool", report->tool) ||
        !cJSON_AddStringToObject(root, "graph", report->graph) || !cJSON_AddNumberToObject(root, "lost", report->lost))
        return false;
    list = cJSON_AddArrayToObject(root, "findings");
    for (int i = 0; list != NULL && i < report->count; i++)
        if (!add_finding_to_json(list, bg__report_finding_at(report, i)))
            return false;
    return list != NULL && add_part_references(report, root);
}

bg_status bg__report_to_json(const bg_report *report, cJSON **root)
{
    *root = cJSON_CreateObject();
    if (*root != NULL && fill_report_object(report, *root))
        return BG_OK;
    cJSON_Delete(*root);
    *root = NULL;
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_report_write: out of host memory for the report's JSON");
}

bg_status bg__report_json_text(const bg_report *report, bool indented, char **text)
{
    cJSON *root = NULL;
    bg_status status;

    *text = NULL;
    BG__TRY(bg__report_to_json(report, &root));
    *text = bg__json_text(root, indented);
    if (*text == NULL)
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_report_write: out of host memory for the JSON text");
done:
    cJSON_Delete(root);
    return status;
}
