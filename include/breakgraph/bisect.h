/* Bisect: which op calls must run eagerly for a mismatch to vanish?
 *
 * Threads: as bg_capture_forward. */
#ifndef BREAKGRAPH_BISECT_H
#define BREAKGRAPH_BISECT_H

#include <breakgraph/shadow.h>

BG_BEGIN_C_

/* Finds the op calls of forward(user, stream) whose capture makes a replay differ from the eager pass: "culprit" names
 * each, with file and line. All captured keeps those ops eager that are declared so.
 *
 * First the oracle: the pass runs eagerly twice, and is captured and replayed twice. A side that does not agree with
 * itself is "nondeterministic", with the first op call that varies, and nothing is searched. Where both agree there is
 * no finding: no difference. Where the mismatch stays with every op eager, "outside-of-ops" says so, and
 * "frozen-argument" names calls whose arguments the graph holds otherwise than the eager pass. Else bg_search looks for
 * the culprits, and a last trial confirms them: with only these captured, the mismatch is there.
 *
 * A trial is one pass: forward called once, eagerly or in a capture that launches nothing and is then replayed. For one
 * culprit among n calls there are at most log2(n) + 8; where the pass fails with calls eager that no break may come
 * between, sets beside them are tried, and at last each call alone, some 2 n in all; options.repeats repeats each, and
 * one bad repeat is bad. The report lists all trials. The rest is as in bg_shadow: what is compared, and what is put
 * back at the end. */
BG_API bg_status bg_bisect(bg_forward forward, void *user, cudaStream_t stream, const bg_compare_options *options,
                           bg_report **report);

/* ---- the search alone ----------------------------------------------------------------------------------------- */

/* GOOD: no mismatch; BAD: there is one; SKIP: this set tells nothing. */
typedef enum bg_verdict { BG_GOOD, BG_BAD, BG_SKIP } bg_verdict;

/* Runs the program, or the pass, with these calls eager. An error ends the search, which returns it. */
typedef bg_status (*bg_search_trial)(void *user, const char *const *eager, size_t count, bg_verdict *verdict);

/* Which smallest set of calls must be eager for trial to be GOOD. calls: names in order of the pass, a call before
 * those inside it ("attention#0", then "attention#0/rope#0"), as bg_graph_get_call gives them. It relies on BAD with
 * none eager and GOOD with all, and tries neither.
 *
 * The shortest prefix of the outermost calls that is GOOD ends with a culprit; with that one eager the search goes on
 * before it, until those found are GOOD alone. Of several, each is then tried without (delta debugging), since with
 * sets that are GOOD only together a prefix may find too many. A culprit with calls inside it is narrowed down to them.
 * Around a SKIP it tries the sets beside it; where all between a BAD and a GOOD one are skipped, all calls between them
 * are culprits.
 *
 * culprits: room for count indices into calls, filled in order of the pass; *found is how many. The order of the trials
 * depends on their verdicts alone, so that a search begun again with the verdicts known goes the same way. Errors:
 * INVALID_ARGUMENT (a NULL, no calls), OUT_OF_MEMORY, the trial's. */
BG_API bg_status bg_search(const char *const *calls, size_t count, bg_search_trial trial, void *user, size_t *culprits,
                           size_t *found);

BG_END_C_

#endif
