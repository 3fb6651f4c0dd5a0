#include "report.h"
#include "report_data.h"

#include <cjson/cJSON.h>
#include <stdio.h>

static bg_status write_json(const bg_report *report, FILE *out)
{
    char *text;
    bg_status status = bg__report_json(report, true, &text);

    if (status == BG_OK)
        fprintf(out, "%s\n", text);
    cJSON_free(text);
    return status;
}

typedef struct writing {
    const bg_report *report;
    bg_format format;
} writing;

static bg_status write_to(void *user, FILE *out)
{
    const writing *w = user;
    if (w->format == BG_JSON)
        return write_json(w->report, out);
    if (w->format == BG_HTML)
        return bg__report_page(w->report, out);
    bg__report_print(w->report, out);
    return BG_OK;
}

bg_status bg__report_write(const bg_report *report, bg_format format, const char *path, bg__file_name name)
{
    writing w = {report, format};
    bg_status status = bg__file_write(path, name, write_to, &w);
    if (status == BG_ERROR_IO)
        bg__fail_where("bg_report_write");
    return status;
}

bg_status bg_report_write(const bg_report *report, bg_format format, const char *path)
{
    BG__NEED(report);
    BG__NEED(path);
    if (format != BG_TEXT && format != BG_JSON && format != BG_HTML)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_report_write: format %d is not a bg_format", (int)format);
    return bg__report_write(report, format, path, BG__FILE_GIVEN);
}
