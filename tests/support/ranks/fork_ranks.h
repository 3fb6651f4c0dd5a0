/* Ranks of a job as processes that a program forks before it touches a device. Not a word of tests: programs that are
 * none have them, too. */
#ifndef TESTS_FORK_RANKS_H
#define TESTS_FORK_RANKS_H

#include <breakgraph/comm.h>

#include <sys/types.h>

enum { FORK_RANKS_MAX = 4 };

/* How many ranks can run here, at most that many: one a GPU; the host device shows as many devices as there are ranks.
 * This process touches none. */
int fork_ranks_possible(void);

/* What a rank does; its exit status. options name the rank, the size, and a port that was free. */
typedef int (*fork_body)(const bg_comm_options *options, void *user);

/* Runs the body in `size` processes, which end after so many seconds whatever they do, and with this one. True if each
 * has ended with 0; else a line on stderr for each that has not. */
bool fork_ranks(int size, unsigned seconds, fork_body body, void *user);

/* ---- the parts of it -------------------------------------------------------------------------------------------- */

/* A process for a rank, which ends after so many seconds and with this one: 0 in it; -1 after a line on stderr. */
pid_t fork_rank(unsigned seconds);
/* Waits for its end, and gives its status as waitpid does. */
int fork_rank_status(pid_t pid);
/* What a rank of so many is told to join with. */
bg_comm_options fork_rank_options(int rank, int size, int port);
/* A socket bound to this port of loopback, 0: to any, which is written there; -1: it is taken. While the socket is
 * open, no other process is given the port, and ranks can listen there. */
int fork_ranks_hold_port(int *port);

#endif
