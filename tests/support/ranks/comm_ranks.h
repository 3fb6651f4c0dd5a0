/* Ranks of a job for tests of bg_comm: each a process with a port in common, that ends with the test. A program that
 * includes this has no tests where there is no NCCL, and says so. */
#ifndef TESTS_COMM_RANKS_H
#define TESTS_COMM_RANKS_H

#include "nccl_ranks.h"

#ifdef TEST_NCCL
#include <breakgraph/breakgraph.h>
#include <breakgraph/comm.h>

#include <sys/types.h>

struct member {
    int rank, size, port;
    double started;          /* by bg__now_ms */
    bg_comm_options options; /* that name all of this; the watchdog is off, the timeout long */
    const void *argument;
    int ready[2]; /* a pipe that all have in common */
    /* What join and the functions of the pass make. Where the body ends well, what is not NULL is freed then. */
    bg_comm *comm;
    const bg_ranks *ranks;
    cudaStream_t stream;
    int *device; /* a number */
    bg_graph *graph;
    uint64_t replays;
};

enum { SOON = 100 }; /* seconds: far below that timeout, of 240; a slow machine takes tens where others take one */

/* What a rank does. */
typedef void (*member_body)(struct member *m);

#define EXPECT_BG(call) expect_bg((call), #call, __FILE__, __LINE__)
/* The status, and a sentence that holds the text: a format with what it needs. */
#define EXPECT_SAID(call, expected, ...) expect_said(__FILE__, __LINE__, (call), (expected), __VA_ARGS__)
/* An error of the ranks, by this call, and the one that bg_comm_check gives. */
#define EXPECT_RANKS(call, ...) EXPECT_SAID(call, BG_ERROR_RANKS, __VA_ARGS__)
#define EXPECT_FAILED(m, ...)   EXPECT_RANKS(bg_comm_check((m)->comm), __VA_ARGS__)
/* The rank cannot join. */
#define EXPECT_NO_COMM(m, expected, ...) EXPECT_SAID(fail_to_join(m), expected, __VA_ARGS__)
void expect_bg(bg_status status, const char *call, const char *file, int line);
void expect_said(const char *file, int line, bg_status status, bg_status expected, const char *text, ...)
    __attribute__((format(printf, 5, 6)));

/* A port of loopback that no other process is given while this one runs, nor the next one, where ranks of torchrun
 * meet; ranks can listen on both. */
int free_port(void);
/* Since the rank was started. */
double seconds_passed(const struct member *m);
void pass_time(double seconds);
bool is_last(const struct member *m);
/* "rank 0", "ranks 0-2": all but the last. */
const char *the_others(const struct member *m);
/* One byte through the pipe that all have in common. */
void tell_ready(const struct member *m);
void await_ready(const struct member *m);
/* A child sends this process the signal after so many seconds, and tells the others ready. */
void signal_later(const struct member *m, double seconds, int signal);
/* m->comm and m->ranks. */
bg_status join(struct member *m);
bg_status fail_to_join(struct member *m);
/* Joins the job, meets the others once, and leaves. */
void join_well(const struct member *m);
/* Rank 0 at once, the others when they are told ready. */
void join_in_turn(const struct member *m);
/* Until bg_comm_check gives an error. */
void await_failure(const struct member *m);
/* A connection to this port of this machine; -1: nobody listens. */
int connect_to_port(int port);

/* Runs the body on so many ranks; each must end well. As all that run ranks, it skips the test where there are fewer.
 */
void run_members(int size, member_body body, const void *argument);
/* On `fewest` ranks, and on twice as many and so on as far as possible. */
void run_sizes(int fewest, member_body body, const void *argument);
/* The same, but the last rank is killed. */
void run_sizes_last_killed(int fewest, member_body body, const void *argument);
/* But this one, which must end with that status; it is waited for last, and killed first where it has stopped. */
void run_members_but(int size, member_body body, const void *argument, int odd, int status);
/* More processes than ranks, or not all: each gets the number given, of the port in common; NULL: its own. It does not
 * look how many there can be. */
void run_processes_as(int count, int size, const int *numbers, member_body body, const void *argument);

/* Tests whose body is the ranks', with struct member *m: of so many, and of all sizes from so many on. */
#define MEMBERS_TEST(name, size) RANKS_TEST(name, run_members, size)
#define SIZES_TEST(name, fewest) RANKS_TEST(name, run_sizes, fewest)
#define RANKS_TEST(name, run, size)                                                                                    \
    static void name##_body(struct member *m);                                                                         \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        run(size, name##_body, NULL);                                                                                  \
    }                                                                                                                  \
    static void name##_body(__attribute__((unused)) struct member *m)

/* What the ranks of the last run have said on stderr. */
extern char members_said[RANKS_MAX][4096];

/* ---- a pass with a collective: one number, summed over all ranks ----------------------------------------------- */

/* Sums a number on the device over all ranks. */
bg_status sum_number(void *number, ncclComm_t comm, cudaStream_t stream);
/* user: a member. */
bg_status model_forward(void *user, cudaStream_t stream);

/* As a body, on all ranks together: joins. The first pass is queued, and not waited for. */
void model_open(struct member *m);
/* Opens and captures it; the graph holds the communicator. */
void model_prepare(struct member *m);
/* Two steps for the watchdog, of a replay of bucket 8. model_try: its error may be known already. */
void model_replay(struct member *m);
bg_status model_try(struct member *m);
/* Frees the number and the stream. */
void model_free(struct member *m);

#else
SKIP_PROGRAM("there is no NCCL");
#endif
#endif
