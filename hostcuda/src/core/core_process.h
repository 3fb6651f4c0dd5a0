/* Whether another process of this machine still runs. */
#ifndef HOSTCUDA_PROCESS_H
#define HOSTCUDA_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* A number that tells the process from later ones of the same id; 0: there is none. */
uint64_t hc_process_started(int pid);
/* False: it has ended, even if nobody has asked for its exit status yet. */
bool hc_process_alive(int pid, uint64_t started);

#endif
