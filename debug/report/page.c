/* The page of BG_HTML: page.html, with the report's JSON and text in it. */
#include "report_data.h"

#include <stdlib.h>
#include <string.h>

/* The lines of page.html, each with its newline. */
static const char *const lines[] = {
#include "debug/report/page_lines.inc"
};

/* In a script element '<' could end the element or begin a comment, and some parsers take U+2028 and U+2029 for
 * newlines. */
static void put_json(const char *json, FILE *out)
{
    for (const char *at = json; *at != '\0'; at++) {
        if (*at == '<') {
            fputs("\\u003c", out);
        } else if (strncmp(at, "\xe2\x80\xa8", 3) == 0 || strncmp(at, "\xe2\x80\xa9", 3) == 0) {
            fputs(at[2] == '\xa8' ? "\\u2028" : "\\u2029", out);
            at += 2;
        } else {
            fputc(*at, out);
        }
    }
    fputc('\n', out);
}

static void put_text(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        default: fputc(*text, out); break;
        }
    }
}

static bg_status make_text(const bg_report *report, char **text)
{
    size_t size;
    FILE *memory = open_memstream(text, &size);
    bool good = memory != NULL;

    if (good)
        bg__report_print(report, memory);
    good = good && ferror(memory) == 0;
    good = memory != NULL && fclose(memory) == 0 && good;
    return good ? BG_OK : bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_report_write: out of host memory for the page's text");
}

static void put_title(const bg_report *report, FILE *out)
{
    put_text(report->tool, out);
    fputs(" of ", out);
    put_text(report->graph, out);
    fprintf(out, ": %d finding%s\n", report->count, report->count == 1 ? "" : "s");
}

bg_status bg__report_page(const bg_report *report, FILE *out)
{
    char *json = NULL, *text = NULL;
    bg_status status;

    BG__TRY(bg__report_json(report, false, &json));
    BG__TRY(make_text(report, &text));
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (strcmp(lines[i], "@TITLE@\n") == 0)
            put_title(report, out);
        else if (strcmp(lines[i], "@TEXT@\n") == 0)
            put_text(text, out);
        else if (strcmp(lines[i], "@REPORT@\n") == 0)
            put_json(json, out);
        else
            fputs(lines[i], out);
    }
done:
    cJSON_free(json);
    free(text);
    return status;
}
