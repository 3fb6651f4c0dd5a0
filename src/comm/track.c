/* The ring of events. */
#include "comm/track.h"

#include "comm/places.h"

#include <stdio.h>
#include <string.h>

bg_status bg__track_init(bg__track *track)
{
    bg_status status = BG_OK;
    *track = (bg__track){.lock = PTHREAD_MUTEX_INITIALIZER};
    for (int i = 0; i < BG__SPOTS; i++)
        BG__TRY_CUDA(cudaEventCreateWithFlags(&track->spots[i].event, cudaEventDisableTiming));
done:
    return status;
}

void bg__track_free(bg__track *track)
{
    for (int i = 0; i < BG__SPOTS; i++)
        if (track->spots[i].event != NULL)
            BG__RELEASE(cudaEventDestroy(track->spots[i].event));
}

/* Removes the oldest events that are done. On a failed device no event becomes done. */
static void collect_done(bg__track *track)
{
    while (track->count > 0) {
        const bg__spot *oldest = &track->spots[track->first];
        cudaError_t error = cudaEventQuery(oldest->event);
        bg__ignore(error);
        if (error == cudaErrorNotReady)
            return;
        track->done = *oldest;
        track->first = (track->first + 1) % BG__SPOTS;
        track->count--;
        track->moved_ms = bg__now_ms();
    }
}

void bg__track_enter(bg__track *track, const char *graph, uint64_t replay, int steps)
{
    pthread_mutex_lock(&track->lock);
    if (track->depth++ == 1)
        track->outer = track->now;
    bg__cut(track->now.graph, sizeof track->now.graph, graph);
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
static int next_place(bg__track *track)
{
    if (track->count == BG__SPOTS)
        collect_done(track);
    return (track->first + track->count - (track->count == BG__SPOTS)) % BG__SPOTS;
}

static void put_place(bg__track *track, int place)
{
    bg__spot *spot = &track->spots[place];
    cudaEvent_t event = spot->event;
    *spot = track->now;
    spot->event = event;
    if (track->count == 0)
        track->first = place;
    if ((track->first + track->count) % BG__SPOTS == place && track->count < BG__SPOTS)
        track->count++;
}

bg_status bg__track_step(bg__track *track, int step, const char *text, cudaStream_t stream)
{
    bg_status status = BG_OK;
    int place;

    pthread_mutex_lock(&track->lock);
    bg__cut(track->now.text, sizeof track->now.text, text);
    track->now.step = step;
    track->moved_ms = bg__now_ms();
    place = next_place(track);
    pthread_mutex_unlock(&track->lock);
    /* Not locked: if the driver's queue is full, the call waits for the device, and only the watchdog's thread, which
     * needs the lock, can end a collective that hangs. */
    BG__TRY_CUDA(cudaEventRecord(track->spots[place].event, stream));
    pthread_mutex_lock(&track->lock);
    put_place(track, place);
    pthread_mutex_unlock(&track->lock);
done:
    return status;
}

void bg__track_leave(bg__track *track)
{
    pthread_mutex_lock(&track->lock);
    if (--track->depth == 1)
        track->now = track->outer;
    track->moved_ms = bg__now_ms();
    pthread_mutex_unlock(&track->lock);
}

bool bg__track_is_queueing(bg__track *track)
{
    bool queueing;
    pthread_mutex_lock(&track->lock);
    queueing = track->depth > 0;
    pthread_mutex_unlock(&track->lock);
    return queueing;
}

bool bg__track_look(bg__track *track, double *still_ms)
{
    bool pending;
    pthread_mutex_lock(&track->lock);
    collect_done(track);
    pending = track->depth > 0 || track->count > 0;
    *still_ms = bg__now_ms() - track->moved_ms;
    pthread_mutex_unlock(&track->lock);
    return pending;
}

/* Steps count from 0 in calls, from 1 in messages. */
static void name_spot(const bg__spot *spot, const char *end, char *text, size_t room)
{
    snprintf(text, room, "%s, replay %llu, step %d of %d (%s) %s", spot->graph, (unsigned long long)spot->replay,
             spot->step + 1, spot->steps, spot->text, end);
}

void bg__track_describe(bg__track *track, char *text, size_t room)
{
    pthread_mutex_lock(&track->lock);
    if (track->count > 0)
        name_spot(&track->spots[track->first], "has not finished", text, room);
    else if (track->depth > 0 && track->now.step < 0)
        snprintf(text, room, "%s, replay %llu, has queued none of its %d steps", track->now.graph,
                 (unsigned long long)track->now.replay, track->now.steps);
    else if (track->depth > 0)
        name_spot(&track->now, "has finished, and the next is not queued", text, room);
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
