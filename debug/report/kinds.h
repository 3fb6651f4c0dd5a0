/* The kinds of findings. Names do not change between versions; docs/findings.md describes each. */
#ifndef BG_DEBUG_KINDS_H
#define BG_DEBUG_KINDS_H

#define BG__FINDING_KINDS(X)                                                                                           \
    X("freed")                                                                                                         \
    X("reused")                                                                                                        \
    X("moved")                                                                                                         \
    X("shrunk")                                                                                                        \
    X("out-of-range")                                                                                                  \
    X("overlap")                                                                                                       \
    X("dangling")                                                                                                      \
    X("pageable-copy")                                                                                                 \
    X("stack-copy")                                                                                                    \
    X("frozen-value")                                                                                                  \
    X("unstable-pointer")                                                                                              \
    X("frozen-control-flow")                                                                                           \
    X("fault")                                                                                                         \
    X("nan-origin")                                                                                                    \
    X("nan-input")                                                                                                     \
    X("inf-origin")                                                                                                    \
    X("not-stepped")                                                                                                   \
    X("from-source")                                                                                                   \
    X("not-counted")                                                                                                   \
    X("not-dumped")                                                                                                    \
    X("stopped")                                                                                                       \
    X("unwritten-output")                                                                                              \
    X("reads-unwritten")                                                                                               \
    X("not-repeatable")                                                                                                \
    X("leak")                                                                                                          \
    X("race")                                                                                                          \
    X("mismatch")                                                                                                      \
    X("mismatch-origin")                                                                                               \
    X("differs-from-reference")                                                                                        \
    X("culprit")                                                                                                       \
    X("nondeterministic")                                                                                              \
    X("not-searched")                                                                                                  \
    X("outside-of-ops")                                                                                                \
    X("frozen-argument")                                                                                               \
    X("capture-broken")                                                                                                \
    X("unloaded")                                                                                                      \
    X("pool-alias")                                                                                                    \
    X("host-function")                                                                                                 \
    X("other-graph")                                                                                                   \
    X("never-freed")                                                                                                   \
    X("capture-not-ended")

#endif
