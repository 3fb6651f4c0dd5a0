/* What the tests of stepping share. */
#ifndef BG_TESTS_STEP_SUPPORT_H
#define BG_TESTS_STEP_SUPPORT_H

#include "tests/support/support.h"

/* The finding of that kind, the only one of its kind; fails the test where there is none. */
bg_finding the_finding(const bg_report *report, const char *kind);
int count_findings(const bg_report *report, const char *kind);
/* Fails the test with the findings' text unless there is none. */
void expect_clean_step(const bg_report *report);
void expect_in(const char *text, const char *part);

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

/* Forgets what was seen, and steps through the graph with note_step. */
bg_report *step_noting(fixture *f, bg_graph *graph);
bg_graph *capture_pass(fixture *f, bg_forward pass);
/* Other values in each element, the same at each call. */
void start_memory(const fixture *f);
/* Stepping leaves in memory what a replay leaves, bit for bit, from each index on. */
void expect_as_replay(fixture *f, bg_graph *graph);

#endif
