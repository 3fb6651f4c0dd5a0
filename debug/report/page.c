/* The page of BG_HTML: page.html with the JSON and the text of the report. */
#include "report.h"
#include "report_data.h"

#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "kinds.h"

enum { FINDINGS_IN_TEXT = 1000 };

/* The lines of page.html, each with its newline. */
static const char *const page_lines[] = {
#include "debug/report/page_lines.inc"
};

static void write_html_text(const char *text, FILE *out)
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

/* Makes the text that is shown if no script runs. */
static bg_status make_page_text(const bg_report *report, char **text)
{
    size_t size;
    FILE *memory = open_memstream(text, &size);
    bool good = memory != NULL;

    if (good)
        bg__report_print_first(report, FINDINGS_IN_TEXT, memory);
    good = good && ferror(memory) == 0;
    good = memory != NULL && fclose(memory) == 0 && good;
    return good ? BG_OK : bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_report_write: out of host memory for the page's text");
}

/* Adds "kinds", the rank of each kind of finding, by which the page puts causes first. */
static bg_status add_kind_ranks(cJSON *root)
{
#define RANK(kind, rank) {kind, BG__##rank},
    static const struct {
        const char *kind;
        int rank;
    } ranks[] = {BG__FINDING_KINDS(RANK)};
#undef RANK
    cJSON *kinds = cJSON_AddObjectToObject(root, "kinds");
    bool good = kinds != NULL;

    for (size_t i = 0; good && i < sizeof ranks / sizeof *ranks; i++)
        good = cJSON_AddNumberToObject(kinds, ranks[i].kind, ranks[i].rank) != NULL;
    return good ? BG_OK : bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_report_write: out of host memory for the page");
}

static void write_title(const bg_report *report, FILE *out)
{
    write_html_text(report->tool, out);
    fputs(" of ", out);
    write_html_text(report->graph, out);
    fprintf(out, ": %d finding%s\n", report->count, report->count == 1 ? "" : "s");
}

bg_status bg__report_write_page(const bg_report *report, FILE *out)
{
    cJSON *root = NULL;
    char *text = NULL;
    bg_status status;

    BG__TRY(bg__report_to_json(report, &root));
    BG__TRY(add_kind_ranks(root));
    BG__TRY(make_page_text(report, &text));
    for (size_t i = 0; i < sizeof page_lines / sizeof page_lines[0]; i++) {
        if (strcmp(page_lines[i], "@TITLE@\n") == 0)
            write_title(report, out);
        else if (strcmp(page_lines[i], "@TEXT@\n") == 0)
            write_html_text(text, out);
        else if (strcmp(page_lines[i], "@REPORT@\n") == 0)
            BG__TRY(bg__columns_write(root, out));
        else
            fputs(page_lines[i], out);
    }
done:
    cJSON_Delete(root);
    free(text);
    return status;
}
