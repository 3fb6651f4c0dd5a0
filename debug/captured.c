/* The checks of a pass that need nothing of the program but its environment. */
#include "captured.h"

#include <breakgraph/check.h>
#include <stdlib.h>

#include "poison.h"
#include "tensors.h"
#include "twice.h"

/* ---- which tensors are the pass's results ---- */

typedef struct results {
    bg_tensor *list;
    size_t count;
} results;

/* Whether some call after this one, in order of the pass, reads or writes the tensor. */
static bool is_used_after(const bg_graph *graph, const bg__call *call, const bg_tensor *tensor)
{
    for (call = bg__call_next(call); call != NULL; call = bg__call_next(call)) {
        const void *args = bg__poison_args(graph, call);
        bg__field_tensor t = {0};
        while (args != NULL && bg__field_tensor_next(call->op, args, &t))
            if (bg__tensor_overlaps(t.tensor, tensor))
                return true;
    }
    return false;
}

static bg_status add(results *r, const bg_tensor *tensor)
{
    bg_tensor *larger = realloc(r->list, (r->count + 1) * sizeof *larger);
    if (larger == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for %zu outputs", r->count + 1);
    r->list = larger;
    r->list[r->count++] = *tensor;
    return BG_OK;
}

static bg_status list_results(const bg_graph *graph, results *r)
{
    bg_status status = BG_OK;
    for (const bg__call *call = bg__call_next(&graph->root); call != NULL; call = bg__call_next(call)) {
        const void *args = bg__poison_args(graph, call);
        bg__field_tensor t = {0};
        while (args != NULL && bg__field_tensor_next(call->op, args, &t)) {
            bool reached;
            if (!t.output || is_used_after(graph, call, t.tensor))
                continue;
            BG__TRY(bg__tensor_reach(t.tensor, &reached));
            if (reached)
                BG__TRY(add(r, t.tensor));
        }
    }
done:
    return status;
}

/* ---- the checks ---- */

static bg_status check_poison(bg_graph *graph, cudaStream_t stream, bg_report **report)
{
    results r = {0};
    bg_status status;
    BG__TRY(list_results(graph, &r));
    BG__TRY(bg_check_poison(graph, r.list, r.count, stream, report));
done:
    free(r.list);
    return status;
}

/* *report is given up. */
static void tell(const char *check, const char *name, bg_status status, bg_report *report)
{
    bg__pending_note();
    if (status != BG_OK)
        bg__warn("BG_CHECK=%s: %s could not be checked: %s", check, name, bg_last_error());
    else if (bg_report_count(report) > 0)
        bg__report_print(report, stderr);
    bg_report_destroy(report);
}

void bg__env_check_twice(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options)
{
    bg__twice_pass pass = {forward, user, stream, *options};
    char hidden = bg__fail_hide();
    bg_report *report = NULL;
    bg_status status;

    pass.options.check = BG_REPLAY_CHECK_OFF;
    pass.options.worker_threads = 0;
    pass.options.upload = false;
    pass.options.barrier = NULL;
    pass.options.state_count = 0; /* nothing runs that would change it */
    status = bg__check_twice(&pass, NULL, &report);
    tell("twice", options->name != NULL ? options->name : "graph", status, report);
    bg__fail_unhide(hidden);
}

void bg__env_check_poison(bg_graph *graph, cudaStream_t stream)
{
    char hidden = bg__fail_hide();
    bg_report *report = NULL;
    bg_status status = check_poison(graph, stream, &report);

    tell("poison", graph->name, status, report);
    bg__fail_unhide(hidden);
}
