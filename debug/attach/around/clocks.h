/* Which work of the program's streams comes behind which, by what its calls say: the order of a stream, events, waits
 * of the host, the legacy stream. Callers hold one lock for all of it. */
#ifndef BG_ATTACH_CLOCKS_H
#define BG_ATTACH_CLOCKS_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* A piece of work: the time-th of a stream. */
typedef struct bg__moment {
    int stream;
    uint64_t time; /* 0: none */
} bg__moment;

enum { BG__CLOCK_STREAMS = 64 }; /* that are kept */
/* What something comes behind: of each stream, the last piece of work. */
typedef struct bg__clock {
    uint64_t time[BG__CLOCK_STREAMS];
} bg__clock;

/* The program launches work into the stream. false: there are more streams than are kept, now and from now on. */
bool bg__clocks_work(CUstream stream, bg__moment *work);
/* Whether work, the last of its stream, comes behind the other one. */
bool bg__clocks_is_behind(bg__moment work, bg__moment other);
/* What is launched into the stream next comes behind this. */
bg__clock bg__clocks_of(CUstream stream);
/* From now on, what is launched into the stream comes behind that, too. */
void bg__clocks_wait(CUstream stream, const bg__clock *at);

/* The stream is destroyed: another one may get its handle. */
void bg__clocks_stream_gone(CUstream stream);
/* The stream waits for something of the host's, such as in a function that runs there: until the host has waited for
 * the stream, what comes behind it may come behind what is launched later. */
void bg__clocks_may_wait_for_host(CUstream stream);
/* Whether the last work of the stream is such: nothing can be said of its order. */
bool bg__clocks_is_loose(bg__moment work);

void bg__clocks_record(CUevent event, CUstream stream);
/* A new event, for which nobody waits; and one that is destroyed. */
void bg__clocks_event_made(CUevent event);
void bg__clocks_event_gone(CUevent event);
/* Work that nobody knows may have recorded events: all are taken to be behind everything. */
void bg__clocks_forget_events(void);
/* An event that was recorded before anybody looked may be behind everything, and is taken to be. */
void bg__clocks_wait_event(CUstream stream, CUevent event);
/* It waits for something that is not looked at, and is taken to come behind all that was launched. */
void bg__clocks_wait_all(CUstream stream);

/* The host has waited: all that any thread launches from now on comes behind what was waited for. */
void bg__clocks_host_waits(CUstream stream);
/* The host may have been told what has happened in the stream, by a function that ran there. */
void bg__clocks_host_may_know(CUstream stream);
void bg__clocks_host_waits_event(CUevent event);
void bg__clocks_host_waits_all(void);
bool bg__clocks_host_knows(bg__moment work);

#endif
