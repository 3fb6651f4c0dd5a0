#include "runs.h"

#include "debug/attach/events/subscribers.h"

#include <stdlib.h>

#include "debug/attach/captures/captures.h"
#include "debug/attach/report/report_list.h"
#include "debug/memory/allocate.h"
#include "debug/report/process_report.h"

static bg_status run_steps(bg__runs *r, const size_t *steps, bg__digests *digests)
{
    bg_status status;
    BG__TRY(bg__serial_run(&r->order, steps, r->order.count, r->stream));
    BG__TRY(bg__digests_compute(digests, &r->image.reach, r->image.page, r->stream));
done:
    return status;
}

static bg_status try_steps(bg__runs *r, const size_t *steps, bg__digests *digests)
{
    bg_status status;
    BG__TRY(bg__image_restore(&r->image, r->stream));
    BG__TRY(run_steps(r, steps, digests));
done:
    return status;
}

/* *why: what the nodes have changed is not in the copy; NULL: it is. */
static bg_status look_around(const bg__runs *r, const char **why)
{
    bool contained, changed = false;
    bg_status status;

    BG__TRY(bg__image_contains_changes(&r->image, &r->result, &contained));
    BG__TRY(bg__image_is_watched_changed(&r->image, &changed, r->stream));
    if (!contained)
        *why = "it wrote into memory that its first launch had not changed, of which there is no copy";
    else if (changed)
        *why = "memory changed in its launch that would not be restored: pinned host memory, or a block before one "
               "that a kernel points to";
done:
    return status;
}

/* The first order twice. *why: it ran once, and may not run again; else NULL. */
static bg_status run_first(bg__runs *r, const char **why)
{
    bg__digests again = {0};
    bg_status status;

    BG__TRY(BG__ALLOCATE(r->steps, r->order.count, "nodes"));
    BG__TRY(bg__order_sort(&r->order, NULL, r->steps));
    BG__TRY(run_steps(r, r->steps, &r->result));
    BG__TRY(look_around(r, why));
    if (*why != NULL)
        goto done;
    BG__TRY(try_steps(r, r->steps, &again));
    BG__TRY(bg__digests_compare(&r->result, &again, &r->image.reach, &r->unstable));
done:
    bg__digests_free(&again);
    return status;
}

bg_status bg__runs_compare(bg__runs *r, const size_t *steps, bg__spans *differing)
{
    bg__digests now = {0};
    bg__spans all = {0};
    bg_status status;

    BG__TRY(try_steps(r, steps, &now));
    BG__TRY(bg__digests_compare(&r->result, &now, &r->image.reach, &all));
    for (size_t i = 0; i < all.count; i++)
        BG__TRY(bg__spans_add_rest(differing, all.list[i].begin, all.list[i].end, &r->unstable));
done:
    bg__digests_free(&now);
    bg__spans_free(&all);
    return status;
}

static void free_runs(bg__runs *r)
{
    bg__nodes_free(&r->nodes);
    bg__order_free(&r->order);
    bg__image_free(&r->image);
    bg__digests_free(&r->result);
    bg__spans_free(&r->unstable);
    free(r->steps);
}

void bg__runs_end(bg__tracked_graph *a)
{
    const bg__seen *s = a->kept;
    if (s != NULL && s->busy && !s->counted && !s->done)
        bg__process_report_add_unchecked(s->check->name, bg__graph_name(a->graph),
                                         "whenever it was launched, a stream was captured");
}

/* ---- one launch ---- */

void bg__seen_drop(void *seen)
{
    bg__seen *s = seen;
    if (s->own != NULL)
        s->check->drop(s->own);
    bg__spans_free(&s->written);
    free(s);
}

void bg__seen_count(bg__seen *s, const bg__runs *r)
{
    if (!s->counted)
        bg__process_report_add_checked(s->check->name, 0, r->nodes.count);
    s->counted = true;
}

static void leave_out(bg__seen *s, const bg__runs *r, const char *why)
{
    s->done = true;
    bg__process_report_add_unchecked(s->check->name, bg__graph_name(r->attached->graph), why);
}

/* Whether the graph leaves the order of no two nodes open. */
static bg_status is_ordered(const bg__order *order, bool *is)
{
    int *lane = NULL, lanes;
    bg_status status;

    BG__TRY(BG__ALLOCATE(lane, order->count, "nodes"));
    BG__TRY(bg__order_find_lanes(order, lane, &lanes));
    *is = lanes <= 1;
done:
    free(lane);
    return status;
}

bg_status bg__runs_launch_graph(bg__runs *r)
{
    bg_status status = BG_OK;

    r->answer = (CUresult)cudaGraphLaunch((cudaGraphExec_t)r->attached->exec, r->stream);
    r->launched = r->answer == CUDA_SUCCESS; /* else the program's own launch follows */
    bg__clear_cuda_error((cudaError_t)r->answer);
    if (r->launched)
        BG__TRY_CUDA(cudaStreamSynchronize(r->stream));
done:
    return status;
}

/* No copy of all memory that the graph may write has room: which blocks does it write? The first such launch is none
 * that the check looks at. */
static bg_status learn(bg__runs *r, bg__seen *s)
{
    bg_status status;
    s->launches -= !r->attached->learned;
    r->attached->learned = true;
    if (s->launches == s->check->launches && !s->counted)
        leave_out(s, r,
                  "it is updated before each launch, and a copy of all it reaches has no room (--snapshot-limit)");
    BG__TRY(bg__runs_launch_graph(r));
    if (r->answer == CUDA_SUCCESS)
        BG__TRY(bg__image_changed_blocks(&r->image, &s->written, r->stream));
done:
    return status;
}

/* Said once. What differs there from order to order, or in the launch, says nothing. */
static void note_unstable(const bg__runs *r, bg__seen *s)
{
    if (r->unstable.count == 0 || s->noted)
        return;
    s->noted = true;
    bg__report_add(
        r->attached->report, "not-repeatable", BG_NOTE, NULL, (const void *)r->unstable.list[0].begin,
        "make its kernels deterministic (in PyTorch: torch.use_deterministic_algorithms), and check again",
        "two runs of the same nodes in the same order differ in %zu bytes, the first at %p: there nothing is "
        "compared",
        bg__spans_bytes(&r->unstable), (const void *)r->unstable.list[0].begin);
}

/* Once memory has been copied it is restored, also after a failure. Where that cannot be done, the one run stands for
 * the program's launch. */
static bg_status run(bg__runs *r, bg__seen *s)
{
    const char *why = NULL;
    bg_status status, restored;

    BG__TRY(run_first(r, &why));
    if (why == NULL) {
        note_unstable(r, s);
        return s->check->look(r, s);
    }
    leave_out(s, r, why);
    if (!bg__serial_is_seen(&r->nodes)) {
        r->launched = true;
        r->answer = CUDA_SUCCESS;
        return BG_OK;
    }
done:
    restored = bg__image_restore(&r->image, r->stream);
    return status != BG_OK ? status : restored;
}

static bg_status copy_and_run(bg__runs *r, bg__seen *s)
{
    bool fits;
    bg_status status;

    BG__TRY(bg__image_look(&r->image, &r->nodes, r->stream));
    if (r->image.obstacle[0] != '\0') {
        leave_out(s, r, r->image.obstacle);
        goto done;
    }
    BG__TRY(bg__image_copy(&r->image, s->written.count > 0 ? &s->written : &r->image.reach, &fits, r->stream));
    if (fits)
        BG__TRY(run(r, s));
    else if (s->check->whole)
        leave_out(s, r, "a copy of what it reaches does not fit into the device's free memory (--snapshot-limit)");
    else if (bg__serial_is_seen(&r->nodes)) /* a run from a copy of a part could not stand for a launch */
        leave_out(s, r,
                  "it has host functions or records events, and a copy of all that it reaches does not fit into the "
                  "device's free memory (--snapshot-limit)");
    else if (s->written.count == 0)
        BG__TRY(learn(r, s));
    else
        leave_out(s, r, "a copy of what it writes does not fit into the device's free memory (--snapshot-limit)");
done:
    return status;
}

static bg_status prepare(bg__runs *r, bg__seen *s)
{
    const char *obstacle;
    bg_status status;

    BG__TRY(bg__nodes_read(r->attached->graph, &r->nodes));
    obstacle = bg__serial_obstacle(&r->nodes);
    if (obstacle != NULL) {
        leave_out(s, r, obstacle);
        goto done;
    }
    if (s->check->complete && bg__serial_leaves_out(&r->nodes)) {
        leave_out(s, r, "it has host functions, which run only where the program launches it");
        goto done;
    }
    BG__TRY(bg__order_read(&r->order, r->attached->source, &r->nodes));
    BG__TRY(is_ordered(&r->order, &r->ordered));
    if (r->ordered && s->check->unordered) {
        s->done = true;
        bg__seen_count(s, r);
        goto done;
    }
    BG__TRY(copy_and_run(r, s));
done:
    return status;
}

static pthread_rwlock_t looking = PTHREAD_RWLOCK_INITIALIZER;

void bg__runs_enter_launch(void)
{
    pthread_rwlock_rdlock(&looking);
}

bool bg__runs_enter_alone(void)
{
    pthread_rwlock_wrlock(&looking); /* no capture begins from now on */
    if (!bg__captures_are_open())
        return true;
    pthread_rwlock_unlock(&looking);
    return false;
}

void bg__runs_leave_launch(void)
{
    pthread_rwlock_unlock(&looking);
}

static void look_at(bg__runs *r, bg__seen *s)
{
    char hidden = bg__error_set_aside();

    s->launches++;
    if (prepare(r, s) != BG_OK)
        leave_out(s, r, bg_last_error());
    bg__report_publish_new(r->attached->report, &r->attached->reported_count);
    bg__error_restore(hidden);
}

/* false: it fails, and the program makes the launch itself, and gets the error. */
static bool launch_plain(bg__runs *r)
{
    r->answer = (CUresult)cudaGraphLaunch((cudaGraphExec_t)r->attached->exec, r->stream);
    bg__clear_cuda_error((cudaError_t)r->answer);
    return r->answer == CUDA_SUCCESS;
}

bool bg__runs_launch(bg__tracked_graph *a, cudaStream_t stream, CUresult *result, const bg__fusions_check *check)
{
    bg__runs runs = {.attached = a, .stream = stream != NULL ? stream : cudaStreamLegacy};
    bg__seen *s = a->kept;
    bool looks;

    if (s == NULL)
        s = a->kept = calloc(1, sizeof *s);
    if (s == NULL)
        return false;
    s->check = check;
    s->launches = a->looks;
    s->counted = a->counted;
    looks = !s->done && s->own == NULL && s->launches < check->launches && (check->wanted == NULL || check->wanted());
    if (looks && !bg__runs_enter_alone()) {
        s->busy = true;
        looks = false;
    }
    if (!looks)
        bg__runs_enter_launch();
    if (looks)
        look_at(&runs, s);
    a->looks = s->launches;
    a->counted = s->counted;
    if (!runs.launched && s->own == NULL)
        runs.launched = launch_plain(&runs);
    bg__runs_leave_launch();
    free_runs(&runs);
    *result = runs.answer;
    return runs.launched;
}

/* ---- captures --------------------------------------------------------------------------------------------------- */

/* CAPTURE_BEGINNING was seen: for a call that a test makes fail, only _BEGUN is. */
static _Thread_local bool is_beginning;

/* No tool may launch until the capture counts as open. */
static void enter_capture(const bg__event *event)
{
    (void)event;
    bg__runs_enter_launch();
    is_beginning = true;
}

static void leave_capture(const bg__event *event)
{
    (void)event;
    if (is_beginning)
        bg__runs_leave_launch();
    is_beginning = false;
}

const bg__subscriber bg__fact_run_gate = {
    .name = "gate of runs", .on = {[BG__CAPTURE_BEGINNING] = enter_capture, [BG__CAPTURE_BEGUN] = leave_capture}};
