/* Nodes that patterns choose: where graphs are split (BG_ATTACH_BREAK), or probed (BG_ATTACH_PROBE). */
#ifndef BG_ATTACH_CHOSEN_NODES_H
#define BG_ATTACH_CHOSEN_NODES_H

#include <stdbool.h>
#include <stddef.h>

#include <breakgraph/status.h>

/* Reads that variable, one in a process. *wanted: it is set. Errors: INVALID_ARGUMENT, IO, OUT_OF_MEMORY. */
bg_status bg__chosen_begin(const char *variable, bool *wanted);

/* A node as patterns see it. */
typedef struct bg__candidate {
    const char *graph; /* "graph#0" */
    const char *name;  /* "scale#3" */
    size_t index;      /* in the order of the graph's list */
    const char *stack; /* of who made it, a line each; NULL: unknown */
} bg__candidate;

/* FIRST: by a pattern with '^' before it. */
typedef enum bg__choice { BG__NOT_CHOSEN, BG__CHOSEN, BG__CHOSEN_FIRST } bg__choice;

/* What the last pattern that matches says of it. */
bg__choice bg__chosen(const bg__candidate *node);

#endif
