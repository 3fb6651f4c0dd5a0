/* Which rank a launcher has made this process. */
#ifndef BG_DEBUG_LAUNCHER_H
#define BG_DEBUG_LAUNCHER_H

#include <stdbool.h>

/* Reads the variables that launchers of ranks set. false: there are none. */
bool bg__launcher_rank(long *rank, long *ranks);

#endif
