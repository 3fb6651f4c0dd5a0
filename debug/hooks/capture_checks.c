#include "capture_checks.h"

#include <breakgraph/check.h>

#include "debug/memory/allocate.h"
#include "debug/report/process_report.h"
#include "debug/memory/results.h"
#include "debug/check/recapture.h"

static bg_status check_poison(bg_graph *graph, cudaStream_t stream, bg_report **report)
{
    bg__results results = {0};
    bg_tensor *outputs = NULL;
    bg_status status;

    BG__TRY(bg__results_take(&results, graph));
    BG__TRY(BG__ALLOCATE(outputs, results.count, "outputs"));
    for (size_t i = 0; i < results.count; i++)
        outputs[i] = *results.list[i].field.tensor;
    BG__TRY(bg_check_poison(graph, outputs, results.count, stream, report));
done:
    free(outputs);
    bg__results_free(&results);
    return status;
}

/* Prints the findings, or why the check failed, and destroys report. */
static void print_check(const char *check, const char *name, bg_status status, bg_report *report)
{
    bg__pending_note();
    if (status != BG_OK)
        bg__warn("BG_CHECK=%s: %s could not be checked: %s", check, name, bg_last_error());
    else if (bg_report_count(report) > 0)
        bg__report_print(report, stderr);
    if (status == BG_OK)
        bg__process_report_add(report);
    bg_report_destroy(report);
}

void bg__env_check_recapture(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options)
{
    bg__recapture_pass pass = {forward, user, stream, *options};
    char hidden = bg__fail_hide();
    bg_report *report = NULL;
    bg_status status;

    pass.options.check = BG_REPLAY_CHECK_OFF;
    pass.options.worker_threads = 0;
    pass.options.upload = false;
    pass.options.barrier = NULL;
    status = bg__check_recapture(&pass, NULL, &report);
    print_check("recapture", options->name != NULL ? options->name : "graph", status, report);
    bg__fail_unhide(hidden);
}

void bg__env_check_poison(bg_graph *graph, cudaStream_t stream)
{
    char hidden = bg__fail_hide();
    bg_report *report = NULL;
    bg_status status = check_poison(graph, stream, &report);

    print_check("poison", bg__graph_name(graph), status, report);
    bg__fail_unhide(hidden);
}
