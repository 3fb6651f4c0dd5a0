/* Tracks replays by a ring of events, each recorded after a queued step. */
#include "comm/replay_tracker.h"

#include "comm/rank_places.h"

#include <stdio.h>
#include <string.h>

bg_status bg__replay_tracker_init(bg__replay_tracker *track)
{
    bg_status status = BG_OK;
    *track = (bg__replay_tracker){.lock = PTHREAD_MUTEX_INITIALIZER};
    for (int i = 0; i < BG__TRACKED_STEPS; i++)
        BG__TRY_CUDA(cudaEventCreateWithFlags(&track->spots[i].event, cudaEventDisableTiming));
done:
    return status;
}

void bg__replay_tracker_free(bg__replay_tracker *track)
{
    for (int i = 0; i < BG__TRACKED_STEPS; i++)
        if (track->spots[i].event != NULL)
            BG__RELEASE(cudaEventDestroy(track->spots[i].event));
}

/* Removes the oldest events that are done. On a failed device no event becomes done. */
static void remove_finished_steps(bg__replay_tracker *track)
{
    while (track->count > 0) {
        const bg__tracked_step *oldest = &track->spots[track->first];
        cudaError_t error = cudaEventQuery(oldest->event);
        bg__clear_cuda_error(error);
        if (error == cudaErrorNotReady)
            return;
        track->done = *oldest;
        track->first = (track->first + 1) % BG__TRACKED_STEPS;
        track->count--;
        track->moved_ms = bg__now_ms();
    }
}

void bg__replay_tracker_begin(bg__replay_tracker *track, const char *graph, uint64_t replay, int steps)
{
    pthread_mutex_lock(&track->lock);
    if (track->depth++ == 1)
        track->outer = track->now;
    bg__truncate_text(track->now.graph, sizeof track->now.graph, graph);
    track->now.text[0] = '\0';
    track->now.replay = replay;
    track->now.steps = steps;
    track->now.step = -1;
    track->any = true;
    track->moved_ms = bg__now_ms();
    pthread_mutex_unlock(&track->lock);
}

/* In a full ring a new event replaces the newest one; the oldest stay. The watchdog's thread may remove old ones
 * meanwhile, without moving that place. */
static int next_ring_index(bg__replay_tracker *track)
{
    if (track->count == BG__TRACKED_STEPS)
        remove_finished_steps(track);
    return (track->first + track->count - (track->count == BG__TRACKED_STEPS)) % BG__TRACKED_STEPS;
}

static void put_in_ring(bg__replay_tracker *track, int place)
{
    bg__tracked_step *spot = &track->spots[place];
    cudaEvent_t event = spot->event;
    *spot = track->now;
    spot->event = event;
    if (track->count == 0)
        track->first = place;
    if ((track->first + track->count) % BG__TRACKED_STEPS == place && track->count < BG__TRACKED_STEPS)
        track->count++;
}

bg_status bg__replay_tracker_step(bg__replay_tracker *track, int step, const char *text, cudaStream_t stream)
{
    bg_status status = BG_OK;
    int place;

    pthread_mutex_lock(&track->lock);
    bg__truncate_text(track->now.text, sizeof track->now.text, text);
    track->now.step = step;
    track->moved_ms = bg__now_ms();
    place = next_ring_index(track);
    pthread_mutex_unlock(&track->lock);
    /* Not locked: if the driver's queue is full, the call waits for the device, and only the watchdog's thread, which
     * needs the lock, can end a collective that hangs. */
    BG__TRY_CUDA(cudaEventRecord(track->spots[place].event, stream));
    pthread_mutex_lock(&track->lock);
    put_in_ring(track, place);
    pthread_mutex_unlock(&track->lock);
done:
    return status;
}

void bg__replay_tracker_end(bg__replay_tracker *track)
{
    pthread_mutex_lock(&track->lock);
    if (--track->depth == 1)
        track->now = track->outer;
    track->moved_ms = bg__now_ms();
    pthread_mutex_unlock(&track->lock);
}

bool bg__replay_tracker_is_queueing(bg__replay_tracker *track)
{
    bool queueing;
    pthread_mutex_lock(&track->lock);
    queueing = track->depth > 0;
    pthread_mutex_unlock(&track->lock);
    return queueing;
}

bool bg__replay_tracker_query(bg__replay_tracker *track, double *still_ms)
{
    bool pending;
    pthread_mutex_lock(&track->lock);
    remove_finished_steps(track);
    pending = track->depth > 0 || track->count > 0;
    *still_ms = bg__now_ms() - track->moved_ms;
    pthread_mutex_unlock(&track->lock);
    return pending;
}

/* Steps count from 0 in calls, from 1 in messages. */
static void format_step(const bg__tracked_step *spot, const char *end, char *text, size_t room)
{
    snprintf(text, room, "%s, replay %llu, step %d of %d (%s) %s", spot->graph, (unsigned long long)spot->replay,
             spot->step + 1, spot->steps, spot->text, end);
}

void bg__replay_tracker_describe(bg__replay_tracker *track, char *text, size_t room)
{
    pthread_mutex_lock(&track->lock);
    if (track->count > 0)
        format_step(&track->spots[track->first], "has not finished", text, room);
    else if (track->depth > 0 && track->now.step < 0)
        snprintf(text, room, "%s, replay %llu, has queued none of its %d steps", track->now.graph,
                 (unsigned long long)track->now.replay, track->now.steps);
    else if (track->depth > 0)
        format_step(&track->now, "has finished, and the next is not queued", text, room);
    else if (track->any && track->done.steps == 0)
        snprintf(text, room, "not in a replay; the last was %s, replay %llu, of which no step has finished",
                 track->now.graph, (unsigned long long)track->now.replay);
    else if (track->any)
        snprintf(text, room, "not in a replay; the last was %s, replay %llu", track->done.graph,
                 (unsigned long long)track->done.replay);
    else
        snprintf(text, room, "not in a replay");
    pthread_mutex_unlock(&track->lock);
}
