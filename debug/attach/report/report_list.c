#include "report_list.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "debug/report/process_report.h"
#include "debug/report/report.h"
#include "debug/report/report_data.h"

static bool abort_on_fault;
static struct {
    pthread_mutex_t lock;
    bg__report_list found; /* reports of destroyed graphs */
} queued = {.lock = PTHREAD_MUTEX_INITIALIZER};

bg_status bg__report_list_begin(void)
{
    return bg__env_flag("BG_ATTACH_FATAL", &abort_on_fault);
}

void bg__report_publish_new(bg_report *report, int *told)
{
    const bg_finding *worst = bg__report_finding_at(report, 0);

    if (bg_report_count(report) <= *told)
        return;
    *told = bg_report_count(report);
    bg__report_print(report, stderr);
    bg__process_report_add(report);
    if (abort_on_fault && worst->severity == BG_FAULT)
        abort(); /* a debugger, or a core file, shows the launch */
}

/* ---- the program asks ------------------------------------------------------------------------------------------- */

bg_status bg__report_list_add(bg__report_list *found, bg_report *report)
{
    bg_status status;
    if (bg_report_count(report) == 0) {
        bg_report_destroy(report);
        return BG_OK;
    }
    BG__TRY(BG__ARRAY_GROW(found->reports, found->count, found->capacity, "reports"));
    found->reports[found->count++] = report;
    report = NULL;
done:
    bg_report_destroy(report);
    return status;
}

void bg__report_queue(bg_report *report, int asked)
{
    if (bg_report_count(report) <= asked) {
        bg_report_destroy(report);
        return;
    }
    pthread_mutex_lock(&queued.lock);
    if (bg__report_list_add(&queued.found, report) != BG_OK)
        bg__warn("--attach: %s", bg_last_error());
    pthread_mutex_unlock(&queued.lock);
}

bg_status bg__report_list_add_queued(bg__report_list *found)
{
    bg_status status = BG_OK;
    pthread_mutex_lock(&queued.lock);
    while (queued.found.count > 0 && status == BG_OK)
        status = bg__report_list_add(found, queued.found.reports[--queued.found.count]);
    pthread_mutex_unlock(&queued.lock);
    return status;
}

int bg__report_list_count(const bg__report_list *found)
{
    int count = 0;
    for (size_t i = 0; i < found->count; i++)
        count += (int)(found->reports[i]->of[BG_WARNING].count + found->reports[i]->of[BG_FAULT].count);
    return count;
}

void bg__report_list_free(bg__report_list *found)
{
    for (size_t i = 0; i < found->count; i++)
        bg_report_destroy(found->reports[i]);
    free(found->reports);
}

static void print_reports_text(const bg__report_list *found, FILE *out)
{
    for (size_t i = 0; i < found->count; i++)
        bg__report_print(found->reports[i], out);
}

static bool print_reports_json(const bg__report_list *found, FILE *out)
{
    bool good = true;
    fprintf(out, "{\"breakgraph\": \"%s\", \"findings\": %d, \"graphs\": %d, \"not_checked\": %d, \"reports\": [",
            bg_version(), bg__report_list_count(found), found->graphs, found->not_checked);
    for (size_t i = 0; i < found->count && good; i++) {
        char *text = NULL;
        good = bg__report_json_text(found->reports[i], false, &text) == BG_OK;
        fprintf(out, "%s%s", i > 0 ? ", " : "", good ? text : "");
        cJSON_free(text);
    }
    fputs("]}\n", out);
    return good;
}

bg_status bg__report_list_format(const bg__report_list *found, bg_format format, char **text)
{
    size_t bytes = 0;
    FILE *out = open_memstream(text, &bytes);
    bool good = out != NULL;

    if (good && format == BG_TEXT)
        print_reports_text(found, out);
    else if (good)
        good = print_reports_json(found, out);
    if ((out == NULL || fclose(out) == 0) && good)
        return BG_OK;
    if (out != NULL)
        free(*text);
    *text = NULL;
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_attach_check: out of host memory for the findings");
}
