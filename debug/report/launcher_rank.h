/* The rank that a launcher gave to this process. */
#ifndef BG_DEBUG_LAUNCHER_RANK_H
#define BG_DEBUG_LAUNCHER_RANK_H

#include <stdbool.h>

/* Reads the variables of launchers (torchrun, Open MPI, Slurm). Returns false if none are set. */
bool bg__launcher_rank(long *rank, long *ranks);

#endif
