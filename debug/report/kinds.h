/* The kinds of findings: X(name, rank). Names do not change between versions; docs/findings.md describes each. */
#ifndef BG_DEBUG_KINDS_H
#define BG_DEBUG_KINDS_H

/* The rank of a kind: a cause; the place where its harm begins; a symptom; or a remark on the search itself. A page
 * shows findings in this order. */
enum { BG__CAUSE, BG__ORIGIN, BG__SYMPTOM, BG__ASIDE };

#define BG__FINDING_KINDS(X)                                                                                           \
    X("freed", CAUSE)                                                                                                  \
    X("reused", CAUSE)                                                                                                 \
    X("moved", CAUSE)                                                                                                  \
    X("shrunk", CAUSE)                                                                                                 \
    X("out-of-range", CAUSE)                                                                                           \
    X("overlap", CAUSE)                                                                                                \
    X("dangling", CAUSE)                                                                                               \
    X("pageable-copy", CAUSE)                                                                                          \
    X("stack-copy", CAUSE)                                                                                             \
    X("frozen-value", CAUSE)                                                                                           \
    X("unstable-pointer", CAUSE)                                                                                       \
    X("frozen-control-flow", CAUSE)                                                                                    \
    X("fault", SYMPTOM)                                                                                                \
    X("nan-origin", ORIGIN)                                                                                            \
    X("nan-input", SYMPTOM)                                                                                            \
    X("nan-seen", SYMPTOM)                                                                                             \
    X("inf-origin", ORIGIN)                                                                                            \
    X("not-stepped", ASIDE)                                                                                            \
    X("not-split", ASIDE)                                                                                              \
    X("from-source", ASIDE)                                                                                            \
    X("not-counted", ASIDE)                                                                                            \
    X("not-dumped", ASIDE)                                                                                             \
    X("stopped", ASIDE)                                                                                                \
    X("unwritten-output", CAUSE)                                                                                       \
    X("reads-unwritten", SYMPTOM)                                                                                      \
    X("not-repeatable", ASIDE)                                                                                         \
    X("leak", CAUSE)                                                                                                   \
    X("race", CAUSE)                                                                                                   \
    X("mismatch", SYMPTOM)                                                                                             \
    X("mismatch-origin", ORIGIN)                                                                                       \
    X("differs-from-reference", CAUSE)                                                                                 \
    X("culprit", CAUSE)                                                                                                \
    X("nondeterministic", CAUSE)                                                                                       \
    X("not-searched", ASIDE)                                                                                           \
    X("outside-of-ops", ORIGIN)                                                                                        \
    X("frozen-argument", CAUSE)                                                                                        \
    X("capture-broken", CAUSE)                                                                                         \
    X("unloaded", CAUSE)                                                                                               \
    X("pool-alias", CAUSE)                                                                                             \
    X("host-function", CAUSE)                                                                                          \
    X("other-graph", CAUSE)                                                                                            \
    X("never-freed", CAUSE)                                                                                            \
    X("capture-not-ended", CAUSE)                                                                                      \
    X("hang", CAUSE)                                                                                                   \
    X("unordered", CAUSE)                                                                                              \
    X("host-source-changed", CAUSE)                                                                                    \
    X("padding", CAUSE)                                                                                                \
    X("growth", CAUSE)                                                                                                 \
    X("inputs", ASIDE)                                                                                                 \
    X("attribute-lost", CAUSE)                                                                                         \
    X("fusion-differs", CAUSE)                                                                                         \
    X("fusion-unproven", ASIDE)                                                                                        \
    X("fusion-slower", ASIDE)                                                                                          \
    X("fusion-refused", ASIDE)                                                                                         \
    X("fusion-fits", ASIDE)

#endif
