#include "report.h"
#include "report_data.h"

#include <cjson/cJSON.h>
#include <stdio.h>

static bg_status write_json(const bg_report *report, FILE *out)
{
    char *text;
    bg_status status = bg__report_json_text(report, true, &text);

    if (status == BG_OK)
        fprintf(out, "%s\n", text);
    cJSON_free(text);
    return status;
}

typedef struct report_writer {
    const bg_report *report;
    bg_format format;
} report_writer;

static bg_status write_in_format(void *user, FILE *out)
{
    const report_writer *w = user;
    if (w->format == BG_JSON)
        return write_json(w->report, out);
    if (w->format == BG_HTML)
        return bg__report_write_page(w->report, out);
    bg__report_print(w->report, out);
    return BG_OK;
}

bg_status bg__report_write(const bg_report *report, bg_format format, const char *path, bg__file_origin name)
{
    report_writer w = {report, format};
    bg_status status = bg__file_write(path, name, write_in_format, &w);
    if (status == BG_ERROR_IO)
        bg__error_add_location("bg_report_write");
    return status;
}

bg_status bg_report_write(const bg_report *report, bg_format format, const char *path)
{
    BG__NEED(report);
    BG__NEED(path);
    if (format != BG_TEXT && format != BG_JSON && format != BG_HTML)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_report_write: format %d is not a bg_format", (int)format);
    return bg__report_write(report, format, path, BG__FILE_FROM_USER);
}
