/* Patterns that choose nodes: where graphs are split (BG_ATTACH_BREAK), or probed (BG_ATTACH_PROBE). */
#ifndef BG_ATTACH_NODE_PATTERNS_H
#define BG_ATTACH_NODE_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>

#include <breakgraph/status.h>

/* Reads the patterns from the variable; a process may read one variable. *wanted: the variable is set. Errors:
 * INVALID_ARGUMENT, IO, OUT_OF_MEMORY. */
bg_status bg__node_patterns_begin(const char *variable, bool *wanted);

/* A node as patterns see it. */
typedef struct bg__pattern_candidate {
    const char *graph; /* "graph#0" */
    const char *name;  /* "scale#3" */
    size_t index;      /* place in the graph's list */
    const char *stack; /* of the call that made it, a line for each frame; NULL: unknown */
} bg__pattern_candidate;

/* BG__CHOSEN_FIRST: chosen by a pattern with '^'; it is launched before all nodes that it does not depend on. */
typedef enum bg__choice { BG__NOT_CHOSEN, BG__CHOSEN, BG__CHOSEN_FIRST } bg__choice;

/* Returns what the last matching pattern says about the node. */
bg__choice bg__node_patterns_match(const bg__pattern_candidate *node);

#endif
