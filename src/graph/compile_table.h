/* The functions of src/compile that captures and graphs call. src/compile sets this table when the first rule is
 * registered; lower folders call src/compile only through it. */
#ifndef BG_GRAPH_COMPILE_TABLE_H
#define BG_GRAPH_COMPILE_TABLE_H

#include <breakgraph/capture.h>
#include <breakgraph/op.h>

struct bg__segment;

typedef struct bg__compile_table {
    /* Before the first segment: makes graph->compiled. */
    bg_status (*begin)(bg_capture *capture);
    /* A segment has ended and is not yet instantiated: may rewrite its graph, and launch it as it was captured. */
    bg_status (*segment)(bg_capture *capture, struct bg__segment *segment, bool *launched);
    void (*end)(bg_capture *capture); /* the graph is complete */
    void (*destroyed)(bg_graph *graph);
    /* Calls `see` with the op of each rule whose calls are among these ops. */
    bg_status (*list_ops)(const bg_op *const *ops, size_t count, void (*see)(void *user, const bg_op *op), void *user);
} bg__compile_table;
void bg__compile_set_table(const bg__compile_table *table);
/* NULL: there are no rules. */
const bg__compile_table *bg__compile_get_table(void);

#endif
