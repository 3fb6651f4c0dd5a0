/* Whether another process of this machine still runs. */
#ifndef HOSTCUDA_PROCESS_H
#define HOSTCUDA_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Returns a number that distinguishes the process from later ones with the same id; 0: there is no such process. */
uint64_t hc_process_start_time(int pid);
/* Returns false if the process has ended, even if its parent has not waited for it yet. */
bool hc_process_alive(int pid, uint64_t started);

#endif
