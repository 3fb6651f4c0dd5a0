/* Bisect: finds which op calls must run eagerly for a mismatch to vanish.
 * Threads: as bg_capture_forward. */
#ifndef BREAKGRAPH_BISECT_H
#define BREAKGRAPH_BISECT_H

#include <breakgraph/shadow.h>

BG_BEGIN_C_

/* Finds the op calls of forward(user, stream) whose capture makes a replay differ from the eager pass: "culprit" names
 * each, with file and line. Ops that are declared eager stay eager in all trials. The caller owns *report, which lists
 * all trials. What is compared and restored, and options, are as for bg_shadow.
 * First the pass runs eagerly twice, and is captured and replayed twice. If the two eager passes differ, or the two
 * replays differ, "nondeterministic" names the first op call that varies, and there is no search. Where the eager pass
 * and the replay agree, there is no finding. Where the mismatch stays with every op eager, it is "outside-of-ops", and
 * "frozen-argument" names calls whose arguments in the graph differ from those of the eager pass. Otherwise bg_search
 * finds the culprits, and a last trial confirms them: with only these captured, the mismatch is there.
 * A trial is one pass: `forward` is called once, eagerly or in a capture that launches nothing and is then replayed.
 * One culprit among n calls takes at most log2(n) + 8 trials. If the pass fails because a break separates calls that
 * must be in one segment, the search tries neighbouring sets, and finally each call alone: about 2 n trials. With
 * options.ranks such a failure ends the bisect on all ranks, with that error. Each trial runs options.repeats times,
 * and is bad if one run is.
 * Errors: as for bg_shadow. */
BG_API bg_status bg_bisect(bg_forward forward, void *user, cudaStream_t stream, const bg_compare_options *options,
                           bg_report **report);

/* ---- the search alone ----------------------------------------------------------------------------------------- */

/* The result of a trial.
 *   GOOD: no mismatch
 *   BAD:  a mismatch
 *   SKIP: this set of calls gives no answer */
typedef enum bg_verdict { BG_GOOD, BG_BAD, BG_SKIP } bg_verdict;

/* Runs the program, or the pass, with these calls eager, and sets *verdict. An error ends the search, which returns
 * it. */
typedef bg_status (*bg_search_trial)(void *user, const char *const *eager, size_t count, bg_verdict *verdict);

/* Finds a minimal set of calls that must be eager for `trial` to be GOOD: `trial` is not GOOD if any one of them is
 * left out. Another set may be smaller.
 * calls: count names in order of the pass, a call before those inside it ("attention#0", then "attention#0/rope#0"),
 * as bg_graph_get_call returns them. culprits: room for count indices into calls, filled in order of the pass; *found
 * is their number. `trial` must be BAD with no call eager, and GOOD with all calls eager; the search tries neither.
 * Trials make a prefix eager: the outermost calls from the first to some call. The last call of the shortest prefix for
 * which trial is GOOD is a culprit. That call stays eager, and the search continues among the calls before it, until a
 * trial with only the calls found so far is GOOD. If it found several, it then leaves out each in turn, and drops it if
 * the trial is still GOOD (delta debugging): not every call that the prefixes find may be needed. A culprit with calls
 * inside it is narrowed down to them. After a SKIP, neighbouring sets are tried; if all sets between a BAD and a GOOD
 * set are skipped, all calls between them are culprits. The order of the trials depends only on their verdicts, so a
 * search that is restarted with known verdicts proceeds the same way.
 * Errors: INVALID_ARGUMENT (a NULL, no calls), OUT_OF_MEMORY, those of trial. */
BG_API bg_status bg_search(const char *const *calls, size_t count, bg_search_trial trial, void *user, size_t *culprits,
                           size_t *found);

BG_END_C_

#endif
