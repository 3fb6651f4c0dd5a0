/* A communicator: the link between the ranks, NCCL's communicator, and the watchdog. */
#include "comm/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- as bg_ranks ---------------------------------------------------------------------------------------------- */

static bg_status ranks_barrier(void *user, const char *what)
{
    return bg_comm_barrier(user, what);
}

static bg_status ranks_agree(void *user, const char *what, const char *text)
{
    return bg_comm_agree(user, what, text);
}

static bg_status ranks_any(void *user, const char *what, bool mine, bool *any)
{
    bg_comm *comm = user;
    unsigned char own = mine, *all;
    bg_status status;
    BG__NEED(what);
    BG__NEED(any);
    *any = mine;
    if (bg__comm_is_forked(comm))
        return bg__comm_fail_forked(comm, what);
    all = calloc((size_t)comm->link.size, 1);
    if (all == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "%s: out of host memory for %d answers", what, comm->link.size);
    BG__TRY(bg__exchange(&comm->link, BG__ANY, what, &own, sizeof own, all));
    for (int i = 0; i < comm->link.size; i++)
        *any = *any || all[i] != 0;
done:
    free(all);
    return status;
}

static void retain(void *user)
{
    bg_comm *comm = user;
    if (bg__comm_is_forked(comm)) {
        comm->references++;
        return;
    }
    pthread_mutex_lock(&comm->link.lock);
    comm->references++;
    pthread_mutex_unlock(&comm->link.lock);
}

/* Compares the graph's name: if one rank replays another graph with collectives of the same sizes, nothing else
 * notices. The numbers of replays and steps are not compared: a rank that failed alone and went on, or that has other
 * settings, may have others. */
static bg_status compare_replay(bg_comm *comm, const char *graph)
{
    char text[BG__WHAT_MAX];
    snprintf(text, sizeof text, "a replay of %.150s", graph);
    return bg__agree(&comm->link, "before a replay", text);
}

static bg_status enter_replay(void *user, const char *graph, uint64_t replay, int steps)
{
    bg_comm *comm = user;
    bg_status status = bg__comm_is_forked(comm) ? bg__comm_fail_forked(comm, graph) : bg__link_check(&comm->link);
    if (status == BG_OK && comm->ranks.compare_choices)
        status = compare_replay(comm, graph);
    if (status == BG_OK)
        bg__replay_tracker_begin(&comm->track, graph, replay, steps);
    return status;
}

static bg_status step(void *user, int number, const char *text, cudaStream_t stream)
{
    bg_comm *comm = user;
    bg_status status = bg__comm_is_forked(comm) ? bg__comm_fail_forked(comm, text) : bg__link_check(&comm->link);
    return status != BG_OK ? status : bg__replay_tracker_step(&comm->track, number, text, stream);
}

static void leave(void *user)
{
    bg_comm *comm = user;
    if (!bg__comm_is_forked(comm))
        bg__replay_tracker_end(&comm->track);
}

static void abort_all(void *user)
{
    bg__nccl_abort(user);
}

/* The host device runs queued work when it is queried, and another rank may wait for that work. */
static void idle(void *user)
{
    (void)bg__nccl_error(user, NULL, 0); /* bg_comm_check reports it */
}

/* ---- beginning and end ---------------------------------------------------------------------------------------- */

/* Waits for replays in flight, or until the watchdog ends them. */
static void wait_for_replays(bg_comm *comm)
{
    double still;
    while (!bg__link_failed(&comm->link) && bg__replay_tracker_query(&comm->track, &still))
        bg__sleep_until(bg__now_ms() + 1);
}

static void destroy_comm(bg_comm *comm)
{
    wait_for_replays(comm);
    bg__watchdog_stop(&comm->watchdog);
    if (bg__link_failed(&comm->link))
        bg__nccl_abort(comm);
    else
        bg__nccl_destroy(comm);
    bg__replay_tracker_free(&comm->track);
    bg__link_free(&comm->link);
    free(comm);
}

static void release_comm(void *user)
{
    bg_comm *comm = user;
    bool last;
    if (bg__comm_is_forked(comm)) {
        bg__comm_release_forked(comm);
        return;
    }
    pthread_mutex_lock(&comm->link.lock);
    last = --comm->references == 0;
    pthread_mutex_unlock(&comm->link.lock);
    if (last)
        destroy_comm(comm);
}

static bg_status set_device(bg_comm *comm, const bg__job *job, bool choose)
{
    bg_status status = BG_OK;
    int count = 0;
    if (choose) {
        BG__TRY_CUDA(cudaGetDeviceCount(&count));
        BG__TRY_CUDA(cudaSetDevice(job->local_rank % count));
    }
    BG__TRY_CUDA(cudaGetDevice(&comm->device));
done:
    return status;
}

static void set_functions(bg_comm *comm, const bg__job *job, bool compare)
{
    comm->ranks = (bg_ranks){.struct_size = sizeof comm->ranks,
                             .rank = job->rank,
                             .size = job->size,
                             .user = comm,
                             .barrier = ranks_barrier,
                             .agree = ranks_agree,
                             .any = ranks_any,
                             .retain = retain,
                             .release = release_comm,
                             .enter = enter_replay,
                             .step = step,
                             .leave = leave,
                             .compare_choices = compare};
    comm->watchdog = (bg__watchdog){.link = &comm->link,
                                    .track = &comm->track,
                                    .device = comm->device,
                                    .limit_ms = job->watchdog * 1e3,
                                    .abort = abort_all,
                                    .user = comm};
    comm->link.idle = idle;
    comm->link.idle_user = comm;
}

/* From here on a failure is fatal on all ranks. */
static bg_status join_ranks(bg_comm *comm, const bg__job *job)
{
    bg_status status;
    BG__TRY(bg__link_join(&comm->link, job));
    status = bg__watchdog_start(&comm->watchdog);
    if (status == BG_OK)
        status = bg__nccl_init(comm);
    if (status != BG_OK)
        bg__link_fail_text(&comm->link, status, "%s", bg_last_error());
done:
    return status;
}

static bg_status create_comm(bg_comm *comm, const bg__job *job, const bg_comm_options *options)
{
    bool compare = false;
    bg_status status = BG_OK;
    BG__TRY(bg__env_flag("BG_RANKS_COMPARE", &compare));
    BG__TRY(set_device(comm, job, options->set_device));
    BG__TRY(bg__replay_tracker_init(&comm->track));
    set_functions(comm, job, compare);
    status = join_ranks(comm, job);
done:
    return status;
}

bg_status bg_comm_create(bg_comm **comm, const bg_comm_options *options)
{
    static const bg_comm_options defaults = BG_COMM_OPTIONS_INIT;
    bg_comm_options taken = defaults;
    bg__job job;
    bg_comm *made = NULL;
    bg_status status = BG_OK;

    BG__NEED(comm);
    *comm = NULL;
    bg__foreign_error_note();
    if (options != NULL)
        BG__TRY(bg__struct_copy_in(&taken, options, sizeof taken, sizeof taken, "options", "BG_COMM_OPTIONS_INIT"));
    BG__TRY(bg__job_read(&job, &taken));
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a communicator");
    made->references = 1;
    made->nccl_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    made->track.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    status = bg__link_init(&made->link, &job);
    if (status == BG_OK)
        status = bg__comm_init_fork_check(made);
    if (status == BG_OK)
        status = create_comm(made, &job, &taken);
    if (status == BG_OK)
        *comm = made;
    else
        destroy_comm(made);
done:
    return status;
}

void bg_comm_abort(bg_comm *comm, const char *why)
{
    bg__failure failure = {.status = BG_ERROR_RANKS, .loud = true};
    if (comm == NULL)
        return;
    if (bg__comm_is_forked(comm)) {
        (void)bg__comm_fail_forked(comm, __func__); /* sets bg_last_error() */
        bg__warn("%s", bg_last_error());
        return;
    }
    snprintf(failure.text, sizeof failure.text, "rank %d has aborted: %s", comm->link.rank,
             why ? why : "no reason given");
    bg__link_fail(&comm->link, &failure);
}

void bg_comm_destroy(bg_comm *comm)
{
    if (comm == NULL)
        return;
    if (!bg__comm_is_forked(comm))
        bg__link_send_bye(&comm->link);
    release_comm(comm);
}
