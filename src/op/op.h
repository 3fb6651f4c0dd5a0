/* Ops and their calls, for the capture layer.
 *
 * A call runs in one of three ways: plain (no graph knows of it), captured (its work goes into a segment), or at a
 * break (at capture and in every replay). All three fill and read the arguments by the rules in outputs.c. */
#ifndef BG_OP_OP_H
#define BG_OP_OP_H

#include <breakgraph/op.h>
#include <breakgraph/phase.h>

#include "base/base.h"

/* ---- memory of a call (memory.c, blocks.c) ------------------------------------------------------------------- */

typedef enum bg__block_kind { BG__SCRATCH, BG__BRIDGE } bg__block_kind;

typedef struct bg__block {
    bg__block_kind kind;
    int slot; /* the ordinal among those of its kind; -1: outgrown, kept for work in flight */
    void *ptr;
    size_t bytes;
    bool borrowed; /* from a source, which takes it back itself */
} bg__block;

typedef struct bg__memory {
    bg__block *blocks;
    size_t count, capacity;
} bg__memory;

/* Where the calls of a graph get memory while it is captured. */
typedef struct bg__source {
    bg_status (*take)(void *user, size_t bytes, void **ptr);
    void *user;
} bg__source;

/* The block (kind, slot) of a call, made or remade where it is smaller than bytes: from the source of its root, else
 * device memory. bytes > 0. */
struct bg__call;
bg_status bg__memory_get(struct bg__call *call, bg__block_kind kind, int slot, size_t bytes, void **ptr);
size_t bg__memory_bytes(const bg__memory *memory);
/* The bytes among them that are not borrowed. */
size_t bg__memory_own_bytes(const bg__memory *memory);
/* The source has taken its blocks back. */
void bg__memory_forget_borrowed(bg__memory *memory);
void bg__memory_free(bg__memory *memory);

/* Gives a plain call the memory that its place in the program has in this thread (plain.c). */
bg_status bg__plain_memory(struct bg__call *call);

/* ---- calls (call.c) ------------------------------------------------------------------------------------------ */

typedef struct bg__op_count {
    const bg_op *op;
    unsigned count;
} bg__op_count;

/* One use of an op. Calls of a graph form a tree: a call's children are the calls made in its body. */
typedef struct bg__call {
    const bg_op *op; /* NULL: the root of a pass */
    bg_site site;
    struct bg__call *parent;
    bg__memory *memory; /* NULL: a plain call that has not asked for any */

    /* While its body runs. */
    void *args;
    cudaStream_t stream;
    int scratch_used;

    /* In a graph. */
    bool recorded;
    bool repeated; /* its body has run before: its children may be there already */
    bool eager;
    bool zero_tail; /* of outputs that are shorter than expected; a root hands it on */
    bool ranges;    /* profilers get its calls */
    int segment;
    long first_node, end_node; /* of a captured call: its nodes, by their place in cudaGraphGetNodes' list, which is the
                                  order of their making; -1: unknown */
    int end_segment;           /* that end_node counts in: a captured body may have breaks */
    unsigned index;            /* among the calls of this op with the same parent */
    char *name;
    struct bg__call *child, *last_child, *next; /* in order of first use */
    struct bg__call *cursor;                    /* the child that comes next, if this pass is like the last */
    void *kept;           /* of a captured call: its arguments as the caller got them back, for the tools */
    bg__op_count *counts; /* the children of this pass so far */
    size_t count_used, count_capacity;
    bg__memory own;
    void *want, *shaped;      /* copies of a nested call's arguments, as expected and for the shape function: kept, so
                               * that replays allocate nothing */
    const bg__source *source; /* of a root: NULL unless it is being captured, with memory of someone else's */
    struct bg__slab *slabs;   /* of a root: what its calls lie in */
} bg__call;

/* The next call of op in parent's body: the one of an earlier pass, or a new one. */
bg_status bg__call_enter(bg__call *parent, const bg_op *op, const bg_site *site, bg__call **call);
/* Keeps a copy of a captured call's arguments. */
bg_status bg__call_keep(bg__call *call, const void *args);
/* Before a body runs: none of its children have been called. */
void bg__call_rewind(bg__call *call);
/* Frees the calls of root, and what it holds; root itself is the caller's. */
void bg__call_clear(bg__call *root);
/* The call after call in order of the pass, a call before its children; NULL after the last. */
bg__call *bg__call_next(const bg__call *call);

/* Puts op, call and site before bg_last_error(), unless an inner call has; sets the sentence where the body set none.
 */
void bg__call_blame(const bg__call *call, bg_status status);

/* ---- outputs (outputs.c) ------------------------------------------------------------------------------------- */

/* Walks over the output tensors of an op: BG_OUT, BG_INOUT, and each element of BG_OUTS. Starts zeroed. */
typedef struct bg__output {
    int ordinal; /* from 0 */
    const bg_field *field;
    int element;
    uint32_t offset;
    uint32_t next_field, next_element;
} bg__output;
bool bg__output_next(const bg_op *op, bg__output *output);
bool bg__tensor_is_valid(const bg_tensor *tensor);
static inline bool bg__tensor_has_shape(const bg_tensor *a, const bg_tensor *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->dim[d] != b->dim[d])
            return false;
    return true;
}
static inline bool bg__tensor_is_same(const bg_tensor *a, const bg_tensor *b)
{
    return a->data == b->data && bg__tensor_has_shape(a, b);
}
int bg__output_count(const bg_op *op);
static inline bg_tensor *bg__output_tensor(const bg__output *output, void *args)
{
    return (bg_tensor *)((char *)args + output->offset);
}

/* Checks every tensor of args, and gives bridge buffers to outputs without memory whose shape is known. */
bg_status bg__outputs_prepare(bg__call *call, void *args);
/* After a failure no output shows a bridge buffer, whose graph may be gone soon. */
void bg__outputs_forget(const bg__call *call, void *args);

/* What brings an output to where it is expected. */
typedef struct bg__move {
    const void *source; /* NULL: it is there */
    void *target;
    size_t bytes;
    size_t tail; /* bytes behind them that are to be zero */
} bg__move;
static inline bool bg__move_is_needed(const bg__move *move)
{
    return move->source != NULL || move->tail > 0;
}
bg_status bg__move_run(const bg__move *move, cudaStream_t stream);

/* Whether an output of args still has the dtype and shape that it had at capture. */
bg_status bg__output_check(const bg__call *call, const bg__output *output, const bg_tensor *captured, void *args);

/* Compares what the body left in got with what was expected in want (completed where the shape was left to the body);
 * both are arguments of the op. */
bg_status bg__output_settle(bg__call *call, const bg__output *output, void *want, void *got, bg__move *move);

/* Runs body on the caller's args as a plain or captured call; on return args holds what the caller gets. */
bg_status bg__call_run(bg__call *call, bg_op_body body, void *args, cudaStream_t stream);

/* Only the body, with args as those that bg_scratch takes. */
bg_status bg__call_body(bg__call *call, bg_op_body body, void *args, cudaStream_t stream);

/* ---- the calling thread (thread.c) --------------------------------------------------------------------------- */

/* Who looks at the calls of a pass that runs eagerly, before and after each body; args are the caller's. */
typedef struct bg__watcher {
    bg_status (*before)(void *user, const bg__call *call, const void *args, cudaStream_t stream);
    bg_status (*after)(void *user, const bg__call *call, const void *args, cudaStream_t stream);
    void *user;
} bg__watcher;

typedef struct bg__thread {
    bg_phase phase;
    bg__call *call;                                   /* whose body runs now; NULL: none */
    struct bg_capture *pass;                          /* that runs eagerly, and that calls here belong to; NULL: none */
    void (*observe)(void *observer, const bg_op *op); /* called for each op call of this thread; NULL: none */
    void *observer;
    const bg__watcher *watcher; /* NULL: none */
    bool in_tool;               /* a debugging tool captures and replays: no other looks at that */
} bg__thread;
bg__thread *bg__thread_self(void);

/* ---- the entry of calls (entry.c) ---------------------------------------------------------------------------- */

/* The capture layer's part of bg_op_call. */
typedef struct bg__capture_hooks {
    /* Takes a call that belongs to a capture (true), or leaves it (false). */
    bool (*call)(const bg_op *op, cudaStream_t stream, void *args, const bg_site *site, bg_status *status);
    /* A call of this thread failed: so has its capture, if it has one. */
    void (*fail)(bg_status status);
} bg__capture_hooks;
void bg__op_set_capture_hooks(const bg__capture_hooks *hooks);

/* Runs the body of a call that has a name, outside graphs, under the eyes of the thread's watcher. */
bg_status bg__call_run_watched(bg__call *call, void *args, cudaStream_t stream);

/* A call that no graph knows of. An eager op refuses a stream that someone else captures, unless foreign_inline. */
bg_status bg__call_plain(const bg_op *op, cudaStream_t stream, void *args, const bg_site *site, bool foreign_inline);

/* ---- overrides (override.c) ---------------------------------------------------------------------------------- */

typedef struct bg__override bg__override;

/* A list that comes after all others in captures of this thread, BG_BREAKABLE=0 too; NULL: none. It stays the caller's.
 */
void bg__override_force(const char *list);
/* What is set now: by own (NULL: nothing), after it by the program, and by the environment. "@FILE" in the environment
 * is what the file holds, a pattern a line. tell: a warning says which pattern of the environment matches no op. */
bg_status bg__override_get(bg__override **override, const char *own, bool tell);
void bg__override_free(bg__override *override);
/* INVALID_ARGUMENT, with from before it, where a pattern of list is malformed; NULL and "" are fine. */
bg_status bg__override_check(const char *list, const char *from);
/* All patterns in their order, with commas between; the caller frees *text. */
bg_status bg__override_text(const bg__override *override, char **text);
/* false: BG_BREAKABLE=0, everything is captured. */
bool bg__override_breakable(const bg__override *override);
/* Whether call is eager: fallback unless a pattern says otherwise. */
bool bg__override_apply(const bg__override *override, const bg__call *call, bool fallback);

/* Whether one pattern, without '!', matches the call. */
bool bg__call_matches(const bg__call *call, const char *pattern, size_t length);

/* ---- registry (registry.c) ----------------------------------------------------------------------------------- */

/* The stub that runs at capture in place of op's body, or that body. */
bg_op_body bg__op_capture_body(const bg_op *op);
/* Whether any op's name matches the pattern, as bg__glob says. */
bool bg__op_any_matches(const char *pattern, size_t length);

/* ---- patterns of names (glob.c) ------------------------------------------------------------------------------ */

/* Whether text is what the pattern's first length characters say; '*' stands for any characters, or none. */
bool bg__glob(const char *pattern, size_t length, const char *text);

#endif
