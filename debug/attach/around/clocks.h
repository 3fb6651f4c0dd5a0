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

/* The program launches work into the stream. false: there are more streams than are kept, now and from now on. */
bool bg__clocks_work(CUstream stream, bg__moment *work);
/* Whether work, the last of its stream, comes behind the other one. */
bool bg__clocks_is_behind(bg__moment work, bg__moment other);
/* From now on, what is launched into the stream comes behind the work, too. */
void bg__clocks_wait_work(CUstream stream, bg__moment work);

void bg__clocks_record(CUevent event, CUstream stream);
/* An event that was recorded before anybody looked may be behind everything, and is taken to be. */
void bg__clocks_wait_event(CUstream stream, CUevent event);
/* It waits for something that is not looked at, and is taken to come behind all that was launched. */
void bg__clocks_wait_all(CUstream stream);

/* The host has waited: all that any thread launches from now on comes behind what was waited for. */
void bg__clocks_host_waits(CUstream stream);
void bg__clocks_host_waits_event(CUevent event);
void bg__clocks_host_waits_all(void);
bool bg__clocks_host_knows(bg__moment work);

#endif
