/* What the tests of stepping share. */
#ifndef BG_TESTS_STEP_SUPPORT_H
#define BG_TESTS_STEP_SUPPORT_H

#include "finding_support.h"

/* What lies in the fixture's memory, 3 N floats. */
void read_memory(const fixture *f, float host[3 * N]);
void write_memory(const fixture *f, const float host[3 * N]);

/* Everything that the last step told, for the test to look at. */
extern struct step_seen {
    int count, last_index, total, kernels;
    char nodes[40][200], calls[40][80];
    uint64_t nan[40], inf[40];
    int stop_after; /* -1: never */
} step_seen;
bool note_step(void *user, const bg_step_info *info);

/* Forgets what was seen: the next index is behind that one. */
void forget_steps(int last_index);
/* Forgets, and steps through the graph with note_step. */
bg_report *step_noting(fixture *f, bg_graph *graph);
/* The last step told of these calls, in order, and of nodes with these words; NULL: nodes are not looked at. */
#define EXPECT_STEPS(calls, nodes) expect_steps_seen(calls, nodes, sizeof(calls) / sizeof *(calls), __FILE__, __LINE__)
void expect_steps_seen(const char *const *calls, const char *const *nodes, int count, const char *file, int line);
/* Other values in each element, the same at each call. */
void start_memory(const fixture *f);
/* Stepping leaves in memory what a replay leaves, bit for bit, from each index on. */
void expect_as_replay(fixture *f, bg_graph *graph);

#endif
