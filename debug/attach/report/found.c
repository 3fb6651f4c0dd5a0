#include "found.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "debug/report/process_report.h"
#include "debug/report/report.h"
#include "debug/report/report_data.h"

static bool fatal;
static struct {
    pthread_mutex_t lock;
    bg__found found; /* reports of destroyed graphs */
} left = {.lock = PTHREAD_MUTEX_INITIALIZER};

bg_status bg__found_begin(void)
{
    return bg__env_flag("BG_ATTACH_FATAL", &fatal);
}

void bg__found_tell(bg_report *report, int *told)
{
    const bg_finding *worst = bg__report_find(report, 0);

    if (bg_report_count(report) <= *told)
        return;
    *told = bg_report_count(report);
    bg__report_print(report, stderr);
    bg__process_report_add(report);
    if (fatal && worst->severity == BG_FAULT)
        abort(); /* a debugger, or a core file, shows the launch */
}

/* ---- the program asks ------------------------------------------------------------------------------------------- */

bg_status bg__found_add(bg__found *found, bg_report *report)
{
    bg_status status;
    if (bg_report_count(report) == 0) {
        bg_report_destroy(report);
        return BG_OK;
    }
    BG__TRY(BG__GROW(found->reports, found->count, found->capacity, "reports"));
    found->reports[found->count++] = report;
    report = NULL;
done:
    bg_report_destroy(report);
    return status;
}

void bg__found_leave(bg_report *report, int asked)
{
    if (bg_report_count(report) <= asked) {
        bg_report_destroy(report);
        return;
    }
    pthread_mutex_lock(&left.lock);
    if (bg__found_add(&left.found, report) != BG_OK)
        bg__warn("--attach: %s", bg_last_error());
    pthread_mutex_unlock(&left.lock);
}

bg_status bg__found_take_left(bg__found *found)
{
    bg_status status = BG_OK;
    pthread_mutex_lock(&left.lock);
    while (left.found.count > 0 && status == BG_OK)
        status = bg__found_add(found, left.found.reports[--left.found.count]);
    pthread_mutex_unlock(&left.lock);
    return status;
}

int bg__found_count(const bg__found *found)
{
    int count = 0;
    for (size_t i = 0; i < found->count; i++)
        count += (int)(found->reports[i]->of[BG_WARNING].count + found->reports[i]->of[BG_FAULT].count);
    return count;
}

void bg__found_free(bg__found *found)
{
    for (size_t i = 0; i < found->count; i++)
        bg_report_destroy(found->reports[i]);
    free(found->reports);
}

static void print_text(const bg__found *found, FILE *out)
{
    for (size_t i = 0; i < found->count; i++)
        bg__report_print(found->reports[i], out);
}

static bool print_json(const bg__found *found, FILE *out)
{
    bool good = true;
    fprintf(out, "{\"breakgraph\": \"%s\", \"findings\": %d, \"graphs\": %d, \"not_checked\": %d, \"reports\": [",
            bg_version(), bg__found_count(found), found->graphs, found->not_checked);
    for (size_t i = 0; i < found->count && good; i++) {
        char *text = NULL;
        good = bg__report_json(found->reports[i], false, &text) == BG_OK;
        fprintf(out, "%s%s", i > 0 ? ", " : "", good ? text : "");
        cJSON_free(text);
    }
    fputs("]}\n", out);
    return good;
}

bg_status bg__found_text(const bg__found *found, bg_format format, char **text)
{
    size_t bytes = 0;
    FILE *out = open_memstream(text, &bytes);
    bool good = out != NULL;

    if (good && format == BG_TEXT)
        print_text(found, out);
    else if (good)
        good = print_json(found, out);
    if ((out == NULL || fclose(out) == 0) && good)
        return BG_OK;
    if (out != NULL)
        free(*text);
    *text = NULL;
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_attach_check: out of host memory for the findings");
}
