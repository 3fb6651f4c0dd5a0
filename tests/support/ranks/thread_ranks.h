/* Ranks as threads of one process, which talk over a table of functions that they share: what a rank is told of the
 * others, without a network. */
#ifndef BG_TESTS_THREAD_RANKS_H
#define BG_TESTS_THREAD_RANKS_H

#include "tests/support/support.h"

#include <stdbool.h>

enum { THREAD_RANKS_MAX = 4 };

typedef struct thread_job thread_job;

/* One rank: its stream, tensors of N floats, and what became of it. */
typedef struct thread_rank thread_rank;
typedef void (*thread_body)(thread_rank *rank);
struct thread_rank {
    thread_job *job;
    thread_body body;
    bg_ranks table;
    int rank, size;
    cudaStream_t stream;
    bg_tensor x, y;
    void *argument; /* the test's, of all ranks */
    bg_status status;
    char error[1024];
    char complaint[400]; /* the first broken expectation; "" for none */
    int holds, calls;    /* retained and not released; functions of the table called */
    int entered, steps;  /* replays that are told of, now; steps of the last one */
    uint64_t replays;
    char text[160]; /* the last step's */
};

/* Runs body on so many ranks, each a thread with a stream of its own, and fails the test where one broke an expectation
 * or holds something. A rank that waits for another one longer than `timeout` seconds, 20 if nothing is said, is let go
 * with an error. */
void thread_ranks_run(int size, thread_body body, void *argument);
void thread_ranks_run_within(double timeout, int size, thread_body body, void *argument);

/* What they left, for the test to look at. */
extern thread_rank thread_ranks[THREAD_RANKS_MAX];

/* The rank has kept this status, with a sentence that holds the text. */
#define EXPECT_RANK(rank, expected, text) expect_rank(rank, expected, text, __FILE__, __LINE__)
/* All ranks were told that they are apart, by both texts; but the last one may have a status of its own, not BG_OK,
 * with the second text. Each has called the table as often as the others, or a rank would wait for nobody. */
#define EXPECT_APART(own, mine, theirs) expect_apart(own, mine, theirs, __FILE__, __LINE__)
#define EXPECT_SAME_CALLS()             expect_same_calls(__FILE__, __LINE__)
void expect_rank(int rank, bg_status expected, const char *text, const char *file, int line);
void expect_apart(bg_status own, const char *mine, const char *theirs, const char *file, int line);
void expect_same_calls(const char *file, int line);

/* In a body, where a test cannot be ended: notes the first that does not hold. */
#define RANK_EXPECT(rank, condition)                                                                                   \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            thread_rank_complain(rank, __FILE__, __LINE__, #condition);                                                \
    } while (0)
#define RANK_OK(rank, call) RANK_EXPECT(rank, (call) == BG_OK)
void thread_rank_complain(thread_rank *rank, const char *file, int line, const char *what);

/* Notes a status, with its sentence. */
void thread_rank_keep(thread_rank *rank, bg_status status);
/* All elements; the first one, -1 where they are not equal. Both wait for the rank's stream. */
void thread_rank_put(thread_rank *rank, const bg_tensor *tensor, float value);
float thread_rank_get(thread_rank *rank, const bg_tensor *tensor);

#endif
