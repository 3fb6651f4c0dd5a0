/* Ranks for tests of NCCL: each a thread or a process, every group of them in processes of its own, so that the test
 * program itself never touches a device and can fork again. */
#ifndef TESTS_NCCL_RANKS_H
#define TESTS_NCCL_RANKS_H

#include "tests/support/test.h"

#ifdef BG_NCCL
#define TEST_NCCL 1
#include <nccl.h>

#include <stdbool.h>
#include <unistd.h>

enum { RANKS_MAX = 4, RANK_NUMBERS = 16 };
enum ranks_as { AS_THREADS, AS_PROCESSES };

struct rank {
    int rank, ranks;
    enum ranks_as as;
    ncclComm_t comm;     /* NULL where the test makes its own */
    cudaStream_t stream; /* on the rank's device, which is the current one */
    int *x; /* RANK_NUMBERS on that device, which start as 0; a body that has broken the device sets it to NULL */
    ncclUniqueId id;
    int first_ends; /* AS_PROCESSES: a pipe to read that ends with the first rank's process */
    int last_ends;  /* the same of the last one's */
    const void *argument;
};

/* What a rank does; 0, or not, after a sentence on stderr. */
typedef int (*rank_body)(struct rank *rank);

/* A broken expectation ends the process, and says where. */
#define RANK_FAIL(...)              _exit(rank_complain(__FILE__, __LINE__, __VA_ARGS__))
#define EXPECT(condition)           ((condition) ? (void)0 : RANK_FAIL("%s", #condition))
#define EXPECT_CUDA(call)           rank_expect_cuda((call), #call, __FILE__, __LINE__)
#define EXPECT_NCCL(call, expected) rank_expect_nccl((call), (expected), #call, __FILE__, __LINE__)
void rank_expect_cuda(cudaError_t found, const char *call, const char *file, int line);
void rank_expect_nccl(ncclResult_t found, ncclResult_t expected, const char *call, const char *file, int line);
/* The sentence alone; gives 1. */
int rank_complain(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* True: the host device, where ranks see each other's failures. */
bool on_host(void);
/* How many ranks can run here. */
int ranks_possible(void);
/* Skip the test, with the reason, where fewer can, or on a GPU. All that run ranks begin with need_ranks. */
void need_ranks(int ranks);
void need_host(const char *why);

/* In a body: waits for the stream and reads r->x. */
void rank_get(const struct rank *r, void *host, size_t bytes);

/* Runs the body on so many ranks and fails the test if one of them does. With communicators: they are made before and
 * destroyed after it. */
void run_ranks(enum ranks_as as, int ranks, rank_body body, const void *argument);
void run_ranks_without(enum ranks_as as, int ranks, rank_body body, const void *argument);
/* As threads, then as processes. */
void run_both_ways(int ranks, rank_body body, const void *argument);
/* On so many ranks and each larger number that there can be. */
void run_ranks_from(int fewest, enum ranks_as as, rank_body body);
/* Once, in a process of its own: the body drives all ranks itself. */
void run_alone(int ranks, rank_body body, const void *argument);
/* A test whose body is that of so many threads, with struct rank *r; on the host device alone, if there is a reason. */
#define RANK_TEST(name, ranks, host_only)                                                                              \
    static void name##_body(struct rank *r);                                                                           \
    static int name##_as(struct rank *r)                                                                               \
    {                                                                                                                  \
        name##_body(r);                                                                                                \
        return 0;                                                                                                      \
    }                                                                                                                  \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        run_rank_test(ranks, name##_as, host_only);                                                                    \
    }                                                                                                                  \
    static void name##_body(struct rank *r)
void run_rank_test(int ranks, rank_body body, const char *host_only);
/* The last rank's process is expected to end by SIGKILL. */
void run_ranks_one_killed(int ranks, rank_body body, const void *argument);
#endif

#endif
