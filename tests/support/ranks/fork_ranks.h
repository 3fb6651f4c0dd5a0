/* Ranks of a job as processes that a program forks before it touches a device, for programs that are no tests. */
#ifndef TESTS_FORK_RANKS_H
#define TESTS_FORK_RANKS_H

#include <breakgraph/comm.h>

enum { FORK_RANKS_MAX = 4 };

/* How many ranks can run here, at most that many: one a GPU; the host device shows as many devices as there are ranks.
 * This process touches none. */
int fork_ranks_possible(void);

/* What a rank does; its exit status. options name the rank, the size, and a port that was free. */
typedef int (*fork_body)(const bg_comm_options *options, void *user);

/* Runs the body in `size` processes, which end after so many seconds whatever they do, and with this one. True if each
 * has ended with 0; else a line on stderr for each that has not. */
bool fork_ranks(int size, unsigned seconds, fork_body body, void *user);

#endif
