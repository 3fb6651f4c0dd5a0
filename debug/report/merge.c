/* One report of two. */
#include "report_data.h"

#include <limits.h>
#include <string.h>

/* Moves a part, or the items of a list, from parts into the report. */
static bg_status move_part(bg_report *report, cJSON *part)
{
    cJSON *list, *item;

    if (strcmp(part->string, "outline") == 0) {
        if (cJSON_GetObjectItemCaseSensitive(report->parts, "outline") != NULL) {
            cJSON_Delete(part);
            return BG_OK;
        }
        return bg__report_set_outline(report, part);
    }
    list = bg__report_part(report, part->string);
    while (list != NULL && (item = cJSON_DetachItemFromArray(part, 0)) != NULL)
        cJSON_AddItemToArray(list, item);
    cJSON_Delete(part);
    return list != NULL ? BG_OK : bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a part of a report");
}

bg_status bg_report_merge(bg_report *report, const bg_report *from)
{
    cJSON *parts = NULL;
    bg_status status = BG_OK;

    BG__NEED(report);
    BG__NEED(from);
    if (report == from)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_report_merge: report and from are the same");
    if (from->parts != NULL) {
        parts = cJSON_Duplicate(from->parts, true);
        if (parts == NULL)
            return bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_report_merge: out of host memory for a copy");
    }
    while (parts != NULL && parts->child != NULL)
        BG__TRY(move_part(report, cJSON_DetachItemViaPointer(parts, parts->child)));
    for (int i = 0; i < from->count; i++)
        bg__report_put(report, bg__report_find(from, i));
    report->lost = from->lost > INT_MAX - report->lost ? INT_MAX : report->lost + from->lost;
done:
    cJSON_Delete(parts);
    return status;
}
