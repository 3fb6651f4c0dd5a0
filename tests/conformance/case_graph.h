/* What cases of graphs made by hand share. */
#ifndef CONFORMANCE_CASE_GRAPH_H
#define CONFORMANCE_CASE_GRAPH_H

#include "cases.h"

/* The values that the parameters of a kernel node point to: they must outlive the parameters. */
struct case_arguments {
    int *x, *y;
    int value;
    void *list[3];
};

/* The parameters of a node of one thread that adds value to *x, or that sets *y to *x * value. */
struct cudaKernelNodeParams case_add_params(const struct scene *s, struct case_arguments *arguments, int value);
struct cudaKernelNodeParams case_scale_params(const struct scene *s, struct case_arguments *arguments, int *y,
                                              int value);
/* Adds a node that adds value to *x, after one node; NULL: after none. */
cudaError_t case_add_node(const struct scene *s, cudaGraph_t graph, cudaGraphNode_t *node, cudaGraphNode_t after,
                          int value);
struct cudaMemcpy3DParms case_copy_params(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);

/* A line of the program that cannot fail; and one that explains. */
#define LET(...)  STEP_AS(#__VA_ARGS__ ";", ((void)(__VA_ARGS__), cudaSuccess))
#define SAY(text) STEP_AS("/* " text " */", cudaSuccess)
#define GRAPH()   STEP(cudaGraphCreate(&s->graph, 0))
/* The case has variables of these names: params, arguments. */
#define ADD_PARAMS(value)                                                                                              \
    STEP_AS("/* params: kernel, one thread, which adds " #value " to x */",                                            \
            (params = case_add_params(s, &arguments, value), cudaSuccess))
/* Nodes of s->graph. */
#define ADDER(node, value)                                                                                             \
    STEP_AS("/* " #node ": a kernel node of graph, which adds " #value " to x */",                                     \
            case_add_node(s, s->graph, &(node), NULL, value))
#define ADDER_AFTER(node, value, before)                                                                               \
    STEP_AS("/* " #node ": a kernel node of graph after " #before ", which adds " #value " to x */",                   \
            case_add_node(s, s->graph, &(node), before, value))
/* Parameters of a copy of bytes in one row. */
#define COPY_PARAMS(to, from, bytes, kind)                                                                             \
    STEP_AS("/* copy: " #bytes " bytes to " #to " from " #from ", cudaMemcpy" #kind " */",                             \
            (copy = case_copy_params(to, from, bytes, cudaMemcpy##kind), cudaSuccess))
#define INSTANTIATE()     STEP(cudaGraphInstantiate(&s->exec, s->graph, 0))
#define ASK_INSTANTIATE() ASK(cudaGraphInstantiate(&s->exec, s->graph, 0))
/* Launches exec on b and waits for it. */
#define RUN_EXEC()                                                                                                     \
    do {                                                                                                               \
        ASK(cudaGraphLaunch(s->exec, s->b));                                                                           \
        ASK(cudaStreamSynchronize(s->b));                                                                              \
    } while (0)
#define RUN_EXEC_X()                                                                                                   \
    do {                                                                                                               \
        RUN_EXEC();                                                                                                    \
        VALUE("x after it", case_read_x(s));                                                                           \
    } while (0)
/* 256 bytes of device memory, 0, as memory; 256 pinned bytes, 0, as pinned. */
#define MEMORY() STEP_AS("/* memory: 256 bytes of device memory, 0 */", case_make_memory(s, 256))
#define PINNED() STEP_AS("/* pinned: 256 bytes of pinned host memory, 0 */", case_make_pinned(s))
cudaError_t case_make_pinned(struct scene *s);
/* The bytes of memory at an offset, as a hexadecimal number for each, without what lies behind. */
#define BYTES(what, offset, count) case_note_bytes(s, what, (const char *)s->memory + (offset), count)
void case_note_bytes(struct scene *s, const char *what, const void *memory, size_t count);
/* The dimensions, func and value of a kernel node's parameters. */
void case_note_kernel(struct scene *s, const char *what, cudaGraphNode_t node);
#define KERNEL_OF(node) case_note_kernel(s, "cudaGraphKernelNodeGetParams(" #node ")", node)
void case_note_fill(struct scene *s, const char *what, cudaGraphNode_t node);
#define FILL_OF(node) case_note_fill(s, "cudaGraphMemsetNodeGetParams(" #node ")", node)
void case_note_copy(struct scene *s, const char *what, cudaGraphNode_t node);
#define COPY_OF(node) case_note_copy(s, "cudaGraphMemcpyNodeGetParams(" #node ")", node)
/* What cudaGraphExecUpdate of s->exec answers. */
#define EXEC_UPDATE(graph) case_note_update(s, "cudaGraphExecUpdate(exec, " #graph ", &result)", s->graph)
void case_note_update(struct scene *s, const char *what, cudaGraph_t graph);

#endif
