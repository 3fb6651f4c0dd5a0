/* Ranks of a job for tests of bg_comm: each a process with a port in common, that ends with the test. */
#ifndef TESTS_COMM_RANKS_H
#define TESTS_COMM_RANKS_H

#include "nccl_ranks.h"

#ifdef TEST_NCCL
#include <breakgraph/breakgraph.h>
#include <breakgraph/comm.h>

#include <sys/types.h>

struct member {
    int rank, size, port;
    bg_comm_options options; /* that name all of this; the watchdog is off, the timeout long */
    const void *argument;
    int ready[2]; /* a pipe that all have in common */
};

enum { SOON = 20 }; /* seconds: far below that timeout, of 60 */

/* What a rank does; 0, or not, after a sentence on stderr. */
typedef int (*member_body)(struct member *m);

#define EXPECT_BG(call)                                                                                                \
    do {                                                                                                               \
        bg_status status_ = (call);                                                                                    \
        if (status_ != BG_OK)                                                                                          \
            return rank_complain(__FILE__, __LINE__, "%s = %s: %s", #call, bg_status_name(status_), bg_last_error());  \
    } while (0)
/* The status, and a sentence that holds the text. */
#define EXPECT_SAID(call, expected, text)                                                                              \
    do {                                                                                                               \
        if (said(__FILE__, __LINE__, (call), (expected), (text)))                                                      \
            return 1;                                                                                                  \
    } while (0)
int said(const char *file, int line, bg_status status, bg_status expected, const char *text);

/* A port of loopback that no other process is given while this one runs, nor the next one, where ranks of torchrun
 * meet; ranks can listen on both. */
int free_port(void);
double seconds_now(void);
void pass_time(double seconds);
bool is_last(const struct member *m);
/* One byte through the pipe that all have in common. */
int tell_ready(const struct member *m);
int await_ready(const struct member *m);
/* Joins the job, meets the others once, and leaves. */
int join_well(const struct member *m);
/* A connection to this port of this machine; -1: nobody listens. */
int connect_to_port(int port);

/* Runs the body on so many ranks; each must end well. */
void run_members(int size, member_body body, const void *argument);
/* But this one, which must end with that status; it is waited for last, and killed first where it has stopped. */
void run_members_but(int size, member_body body, const void *argument, int odd, int status);
/* More processes than ranks: each gets the number that the function gives, of the port in common. */
void run_processes_as(int count, int size, const int *numbers, member_body body, const void *argument);

/* What the ranks of the last run have said on stderr. */
extern char members_said[RANKS_MAX][4096];

/* ---- a pass with a collective: one number, summed over all ranks ----------------------------------------------- */

struct member_model {
    bg_comm *comm;
    const bg_ranks *ranks;
    int *device; /* the number */
    cudaStream_t stream;
    bg_graph *graph;
    uint64_t replays;
};

bg_status model_forward(void *user, cudaStream_t stream);

/* As a body, on all ranks together. The first pass is queued, and not waited for. */
int model_open(struct member *m, struct member_model *model);
/* Opens and captures it; the graph holds the communicator. */
int model_prepare(struct member *m, struct member_model *model);
/* Two steps for the watchdog, of a replay of bucket 8. */
int model_replay(struct member_model *model);
/* Frees all but the communicator and the graph; model_end frees these, too. */
int model_free(struct member_model *model);
int model_end(struct member_model *model);

#endif
#endif
