/* The order that the program's calls give its work: streams, events, waits of the host, the legacy default stream. One
 * lock of the callers protects all of it. */
#ifndef BG_ATTACH_VECTOR_CLOCKS_H
#define BG_ATTACH_VECTOR_CLOCKS_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* A piece of work: the one with the number `time` in its stream. */
typedef struct bg__epoch {
    int stream;
    uint64_t time; /* 0: none */
} bg__epoch;

enum { BG__CLOCK_STREAMS_MAX = 64 }; /* the most streams with a clock */
/* A vector clock: for each stream, the number of the last work that comes before. */
typedef struct bg__vector_clock {
    uint64_t time[BG__CLOCK_STREAMS_MAX];
} bg__vector_clock;

/* The program launches work into the stream. Returns false if there are too many streams, now or earlier. */
bool bg__clocks_add_work(CUstream stream, bg__epoch *work);
/* Whether `work`, the last of its stream, comes after `other`. */
bool bg__clocks_is_ordered_after(bg__epoch work, bg__epoch other);
/* Returns what the next work in the stream comes after. */
bg__vector_clock bg__clocks_of_stream(CUstream stream);
/* All later work in the stream comes after `at`, too. */
void bg__clocks_stream_waits_clock(CUstream stream, const bg__vector_clock *at);

/* The stream is destroyed, and another one may get its handle. */
void bg__clocks_remove_stream(CUstream stream);
/* The stream waits for the host, such as in a host function. Until the host has waited for the stream, later work in it
 * may come after work that is launched afterwards. */
void bg__clocks_stream_may_wait_host(CUstream stream);
/* Whether work may come after an unfinished wait for the host: its order is unknown. */
bool bg__clocks_is_order_unknown(bg__epoch work);

void bg__clocks_record_event(CUevent event, CUstream stream);
/* The program has created an event, which orders nothing yet, or destroys one. */
void bg__clocks_add_event(CUevent event);
void bg__clocks_remove_event(CUevent event);
/* Unknown work may have recorded events: all events are taken to come after all work. */
void bg__clocks_invalidate_events(void);
/* The stream waits for the event. An event recorded before the first graph is taken to come after all work. */
void bg__clocks_stream_waits_event(CUstream stream, CUevent event);
/* The stream waits for something unknown: it is taken to come after all work. */
void bg__clocks_stream_waits_all(CUstream stream);

/* The host has waited: all work that any thread launches later comes after what it has waited for. */
void bg__clocks_host_waits_stream(CUstream stream);
/* The host may know that the work in the stream is done, by a host function that ran there. */
void bg__clocks_host_may_know_stream(CUstream stream);
void bg__clocks_host_waits_event(CUevent event);
void bg__clocks_host_waits_all(void);
bool bg__clocks_host_knows(bg__epoch work);

#endif
