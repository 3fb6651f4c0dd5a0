/* Bugs of programs that use the library, planted in one call of a random program, for the debugging tools to find. */
#ifndef RANDOM_BUGS_H
#define RANDOM_BUGS_H

#include "program.h"

/* name, what it is, the kinds of findings that tell of it */
#define BUG_SORTS(X)                                                                                                   \
    X(FREED, "buffer freed after the capture", "freed", NULL)                                                          \
    X(REUSED, "buffer freed, its address given out again", "reused", "freed")                                          \
    X(MOVED, "block moved by its allocator", "moved", NULL)                                                            \
    X(OUT_OF_RANGE, "tensor beyond its allocation", "out-of-range", NULL)                                              \
    X(OVERLAP, "two outputs that overlap", "overlap", NULL)                                                            \
    X(SCALAR, "scalar frozen at capture", "frozen-value", NULL)                                                        \
    X(ALTERNATES, "buffer that alternates", "unstable-pointer", NULL)                                                  \
    X(BRANCH, "branch on a host value", "frozen-control-flow", NULL)                                                   \
    X(NAN, "NaN born in an op", "nan-origin", NULL)                                                                    \
    X(STACK, "copy from a stack that is gone", "stack-copy", NULL)                                                     \
    X(LEAK, "kernels on a stream outside the capture", "leak", NULL)

typedef enum bug_sort {
#define BUG_ENUM(name, text, kind, other) BUG_##name,
    BUG_SORTS(BUG_ENUM) BUG_SORT_COUNT
} bug_sort;
extern const char *const bug_texts[BUG_SORT_COUNT];

typedef struct bug {
    bug_sort sort;
    int line;      /* the call's site */
    char call[40]; /* as the library names it */
    int tensor;    /* which of the call's tensors it concerns */
    int other;     /* with which it overlaps */
    bool told;     /* its memory is a block of an allocator of the program's own */
    bool second;   /* the branch is taken in the second capture alone, else in the first alone */
    bool changed;  /* the host's state is another one */
    char *memory[2];
    cudaStream_t outside;
} bug;

/* Makes the program one that bg_check_recapture can capture: it launches nothing, and joins all that it forks. */
bool make_capturable(program *p);

/* Whether it shows between two captures of the program, and not in one graph. */
bool bug_needs_recapture(bug_sort sort);

/* Plants it at a call that the seed chooses, or the next that can have it; the program may change for it. False: no
 * call can, or there is no memory, of which stderr tells. */
bool bug_plant(bug *b, bug_sort sort, program *p);
/* After the capture: what the bug is, where it is one of memory. */
bool bug_happen(bug *b);
/* Between the captures of bg_check_recapture. */
void bug_change(void);
/* Whether the finding is of the bug's kind, and names its call and line. */
bool bug_is_named(const bug *b, const bg_finding *finding);
/* Whether the finding is about its call, or one in that call's body, which gets the same tensors and values. */
bool bug_is_near(const bug *b, const bg_finding *finding);
/* The library's calls no longer know of it. */
void bug_remove(bug *b);

/* ---- in the run of a program ---- */

/* Whether the call of that id is left out. */
bool bug_skips(int id);
/* Makes its arguments what the bug wants. */
void bug_spoil(int id, const bg_op *op, void *args);

#endif
