/* Ops and their calls, for src/graph and src/capture.
 *
 * A call runs in one of three ways: plain (outside any graph), captured (its work goes into a segment), or at a break
 * (at capture and in every replay). In all three, outputs.c says how arguments are filled and read. */
#ifndef BG_OP_OP_H
#define BG_OP_OP_H

#include <breakgraph/op.h>
#include <breakgraph/phase.h>

#include "base/base.h"
#include "base/tensor.h"
#include "base/text.h"

/* ---- memory of a call (call_memory.c, call_blocks.c) --------------------------------------------------------- */

typedef enum bg__block_kind { BG__SCRATCH, BG__BRIDGE } bg__block_kind;

typedef struct bg__block {
    bg__block_kind kind;
    int slot; /* the index among the call's blocks of its kind; -1: replaced by a larger one, kept for work in flight */
    void *ptr;
    size_t bytes;
    bool borrowed; /* belongs to a source, which frees it */
} bg__block;

typedef struct bg__block_list {
    bg__block *blocks;
    size_t count, capacity;
} bg__block_list;

/* Where the calls of a graph get memory during its capture. */
typedef struct bg__memory_source {
    bg_status (*take)(void *user, size_t bytes, void **ptr);
    void *user;
} bg__memory_source;

/* Finds the block (kind, slot) of a call. If there is none of at least `bytes` bytes, allocates it from the source of
 * the call's root or, without one, as device memory. bytes must be above 0. */
struct bg__call;
bg_status bg__call_get_block(struct bg__call *call, bg__block_kind kind, int slot, size_t bytes, void **ptr);
size_t bg__block_list_bytes(const bg__block_list *memory);
/* Forgets the borrowed blocks: their source has freed them. */
void bg__block_list_forget_borrowed(bg__block_list *memory);
void bg__block_list_free(bg__block_list *memory);

/* Sets call->memory of a plain call: each place in the program has its own in each thread (plain_memory.c). */
bg_status bg__plain_call_get_blocks(struct bg__call *call);

/* ---- calls (call.c) ------------------------------------------------------------------------------------------ */

typedef struct bg__op_count {
    const bg_op *op;
    unsigned count;
    unsigned name_bytes;         /* of last's name */
    const struct bg__call *last; /* NULL: none yet */
} bg__op_count;

/* One use of an op. The calls of a graph form a tree: a call's children are the calls that its body makes. */
typedef struct bg__call {
    const bg_op *op; /* NULL: the root of a pass */
    bg_site site;    /* in a graph: the place in the pass that made it */
    bg_site here;    /* the call's place in the current pass, for errors; file NULL: as `site` */
    struct bg__call *parent;
    bg__block_list *memory; /* NULL: a plain call that has not needed any */

    /* While its body runs. */
    void *args;
    cudaStream_t stream;
    int scratch_used;

    /* In a graph. */
    bool recorded;
    bool repeated; /* its body has run before: its children may exist already */
    bool eager;
    bool zero_tail; /* options.zero_tail; calls inherit it from their root */
    bool ranges;    /* profilers get ranges for calls */
    int segment;
    long first_node, end_node; /* of a captured call: its nodes, by their index in cudaGraphGetNodes' list, which is in
                                  order of creation; -1: unknown, or replaced. Tools ask bg__calls_of_nodes_list, since
                                  a segment may have been rewritten */
    int end_segment;           /* the segment of end_node: a captured body may have breaks */
    unsigned index;            /* the "#N" of its name: among calls of this op with the same parent */
    char *name;
    struct bg__call *child, *last_child, *next; /* in order of first use */
    struct bg__call *cursor;                    /* the child that comes next if this pass is like the last one */
    void *kept;                                 /* of a captured call: its arguments when it returned, for the tools */
    void *want;                                 /* room for a copy of its arguments: the expected ones; after capture,
                                                 * `kept` */
    struct bg__call *run;      /* the call by which a rule replaced it and its neighbours; NULL: none */
    const char *tolerance;     /* of a run: its rule's tolerance, in the form of BG_TOLERANCE; NULL: the same bits */
    struct bg__call **members; /* of a run: the calls that it replaced, in order of the pass; else NULL */
    int member_count;
    struct bg__call *runs;                     /* of a root: the last run; runs are not in the tree */
    struct bg__call *last_run;                 /* of a run: the one before */
    const struct bg__eager_call *eager_record; /* of an eager call: the record that its step runs; NULL: the graph has
                                                * no step for it */
    bg__op_count *counts;                      /* the number of children in this pass, by op */
    size_t count_used, count_capacity;
    bg__block_list own;
    void *shaped;                    /* a copy for the shape function; reused, so that replays allocate nothing */
    const bg__memory_source *source; /* of a root: while it is captured with a pool, the pool; else NULL */
    struct bg__slab *slabs;          /* of a root: the memory of its calls */
    size_t allocated;                /* of a root: the bytes of blocks of its calls that no source owns */
    /* Of the root of a runner's graph: the context of the run; between runs, the context of a batch that fills the
     * bucket. */
    const struct bg_forward_context *context;
} bg__call;

/* Finds the next call of op in parent's body: the call of an earlier pass, or a new one. */
bg_status bg__call_find_or_add(bg__call *parent, const bg_op *op, const bg_site *site, bg__call **call);
/* Before a body runs: begins again with its first child. */
static inline void bg__call_rewind(bg__call *call)
{
    call->repeated = call->child != NULL;
    call->count_used = 0;
    call->cursor = NULL;
    call->scratch_used = 0;
}
/* Makes a call of op that replaces these sibling calls, given in order of the pass. Its name is copied. Errors:
 * OUT_OF_MEMORY. */
bg_status bg__call_add_run(bg__call *const *members, int count, const bg_op *op, const char *name, bg__call **run);
/* Frees the calls of `root` and all that `root` holds, but not `root` itself. */
void bg__call_clear(bg__call *root);
/* The call after `call` in order of the pass; a call comes before its children. NULL after the last one. */
bg__call *bg__call_next(const bg__call *call);

/* Prepends op, call and site to bg_last_error(), unless an inner call has done so. If the body set no error, sets one.
 */
void bg__error_add_call(const bg__call *call, bg_status status);

/* ---- outputs (outputs.c) ------------------------------------------------------------------------------------- */

/* Iterates over the output tensors of an op: BG_OUT, BG_INOUT, and each element of BG_OUTS. Zeroed at the start. */
typedef struct bg__output {
    int ordinal; /* from 0 */
    const bg_field *field;
    int element;
    uint32_t offset;
    uint32_t next_field, next_element;
} bg__output;
bool bg__output_next(const bg_op *op, bg__output *output);
bool bg__tensor_is_valid(const bg_tensor *tensor);
/* Returns the tensors of a field in args. Their number is one, several for BG_OUTS, or none. */
static inline const bg_tensor *bg__field_tensors(const bg_field *field, const void *args)
{
    return (const bg_tensor *)((const char *)args + field->offset);
}
/* The table of a STRUCT's fields, which ends with one without a name. */
static inline const bg_field *bg__struct_fields(const bg_field *field)
{
    return (const bg_field *)(const void *)field->type;
}
static inline bool bg__field_has_tensors(const bg_field *field)
{
    return field->role != BG_ROLE_VALUE && field->role != BG_ROLE_RESULT && field->role != BG_ROLE_STRUCT;
}
static inline int bg__field_count_tensors(const bg_field *field)
{
    if (!bg__field_has_tensors(field))
        return 0;
    return field->size == sizeof(bg_tensor) ? 1 : (int)(field->size / sizeof(bg_tensor));
}
static inline bool bg__tensors_have_same_shape(const bg_tensor *a, const bg_tensor *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->dim[d] != b->dim[d])
            return false;
    return true;
}
static inline bool bg__tensors_are_same(const bg_tensor *a, const bg_tensor *b)
{
    return a->data == b->data && bg__tensors_have_same_shape(a, b);
}
int bg__output_count(const bg_op *op);
/* Whether the op has BG_RESULT fields. The next function copies only these. */
bool bg__op_has_results(const bg_op *op);
void bg__copy_results(const bg_op *op, void *to, const void *from);
static inline bg_tensor *bg__output_tensor(const bg__output *output, void *args)
{
    return (bg_tensor *)((char *)args + output->offset);
}

/* Checks every tensor of args, and allocates bridge buffers for outputs without memory if their shape is known. */
bg_status bg__outputs_prepare(bg__call *call, void *args);
/* After a failure: sets outputs in bridge buffers to NULL, since their graph may be destroyed soon. */
void bg__outputs_clear_bridges(const bg__call *call, void *args);

/* The copy that puts an output where it is expected. */
typedef struct bg__output_copy {
    const void *source; /* NULL: it is in place */
    void *target;
    size_t bytes;
    size_t tail; /* bytes after them to fill with zeros */
} bg__output_copy;
static inline bool bg__output_copy_is_needed(const bg__output_copy *move)
{
    return move->source != NULL || move->tail > 0;
}
bg_status bg__output_copy_run(const bg__output_copy *move, cudaStream_t stream);

/* Whether an output of args still has the dtype and shape that it had at capture. */
bg_status bg__output_check_shape(const bg__call *call, const bg__output *output, const bg_tensor *captured, void *args);

/* Compares the output that the body left in `got` with the expected output in `want`, and sets *move to the copy that
 * is still needed. Fills in the shape of the expected output if the body had to set it. `want` and `got` are arguments
 * of the op. */
bg_status bg__output_plan_copy(bg__call *call, const bg__output *output, void *want, void *got, bg__output_copy *move);

/* Runs `body` on the caller's `args`, as a plain or captured call. On return `args` holds the outputs. */
bg_status bg__call_run(bg__call *call, bg_op_body body, void *args, cudaStream_t stream);

/* Runs only the body; bg_scratch accepts args meanwhile. */
bg_status bg__call_run_body(bg__call *call, bg_op_body body, void *args, cudaStream_t stream);

/* ---- the calling thread (op_thread.c) --------------------------------------------------------------------------- */

/* Called for the calls of a pass that runs eagerly, before and after each body. args are the caller's. */
typedef struct bg__op_observer {
    bg_status (*before)(void *user, const bg__call *call, const void *args, cudaStream_t stream);
    bg_status (*after)(void *user, const bg__call *call, const void *args, cudaStream_t stream);
    void *user;
} bg__op_observer;

typedef struct bg__thread {
    bg_phase phase;
    bg__call *call;                                   /* the call whose body runs now; NULL: none */
    struct bg_capture *pass;                          /* the eager pass that calls belong to; NULL: none */
    void (*observe)(void *observer, const bg_op *op); /* called for each op call of this thread; NULL: none */
    void *observer;
    const bg__op_observer *watcher; /* NULL: none */
    bool in_tool;                   /* a debugging tool captures and replays: other tools ignore it */
} bg__thread;
extern _Thread_local bg__thread bg__thread_state;
static inline bg__thread *bg__thread_self(void)
{
    return &bg__thread_state;
}

/* ---- the entry of calls (op_call.c) ---------------------------------------------------------------------------- */

/* The capture layer's part of bg_op_call. */
typedef struct bg__capture_hooks {
    /* Runs a call that belongs to a capture, and returns true; false: it belongs to none. */
    bool (*call)(const bg_op *op, cudaStream_t stream, void *args, const bg_site *site, bg_status *status);
    /* A call of this thread failed: fails the capture that it belongs to, if any. */
    void (*fail)(bg_status status);
} bg__capture_hooks;
void bg__op_set_capture_hooks(const bg__capture_hooks *hooks);

/* For a call that fails before bg_op_call: fails the capture that it belongs to, if any. */
void bg__op_call_failed(bg_status status);

/* Runs the body of a call that has a name, outside graphs; the thread's watcher is called before and after. */
bg_status bg__call_run_observed(bg__call *call, void *args, cudaStream_t stream);

/* Runs a call outside any graph. On a stream that another capture captures, an eager op fails, unless foreign_inline.
 */
bg_status bg__call_run_plain(const bg_op *op, cudaStream_t stream, void *args, const bg_site *site,
                             bool foreign_inline);

/* ---- overrides (override.c) ---------------------------------------------------------------------------------- */

typedef struct bg__override bg__override;

/* Sets a list of patterns for captures of this thread that applies after all others, even BG_BREAKABLE=0; NULL: none.
 * list is not copied. */
void bg__override_set_forced(const char *list);
/* Reads the patterns that apply: those in `own` (NULL: none), then the program's, then the environment's. "@FILE" in
 * the environment names a file with a pattern in each line. */
bg_status bg__override_create(bg__override **override, const char *own);
/* Warns of patterns of the environment that match no op. For the end of a pass: its first call may register an op. */
void bg__override_warn_unmatched(const bg__override *override);
void bg__override_free(bg__override *override);
/* Reads a file of patterns into a list, which the caller frees. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
bg_status bg__override_read_list(const char *path, char **list);
/* INVALID_ARGUMENT if a pattern of list is malformed; the message begins with `from`. list may be NULL or "". */
bg_status bg__override_check_list(const char *list, const char *from);
/* All patterns in order, separated by commas; the caller frees *text. */
bg_status bg__override_format(const bg__override *override, char **text);
/* false: BG_BREAKABLE=0, all calls are captured. */
bool bg__override_allows_breaks(const bg__override *override);
/* Whether nothing but the capture's own options overrides what ops declare. */
bool bg__override_is_own_only(const bg__override *override);
/* Whether `call` is eager: `fallback`, unless a pattern decides. */
bool bg__override_is_eager(const bg__override *override, const bg__call *call, bool fallback);

/* Whether one pattern, without '!', matches the call. */
bool bg__call_matches(const bg__call *call, const char *pattern, size_t length);

/* ---- registry (registry.c) ----------------------------------------------------------------------------------- */

/* The body that runs at capture: op's stub or, without one, its body. */
bg_op_body bg__op_capture_body(const bg_op *op);
/* Gives an op whose fields are structs a table of all fields, which stays (struct_fields.c). */
void bg__op_flatten_structs(bg_op *op);
/* Returns BG_ROW_LIMITS numbers, as in bg_op_attributes; zeros for an op that was compiled with an older header. */
const int *bg__op_row_limits(const bg_op *op);
/* Registers op, unless there is an op of that name, which is then returned. */
const bg_op *bg__op_register_once(bg_op *op);
/* Whether any op's name matches the pattern, as bg__glob_matches says. */
bool bg__op_any_matches(const char *pattern, size_t length);
/* For bg__nearest_hint: adds the names of all ops. */
void bg__nearest_add_ops(bg__nearest *nearest);

/* ---- patterns of names (glob.c) ------------------------------------------------------------------------------ */

/* Whether text matches the first length characters of pattern; '*' matches any characters, or none. */
bool bg__glob_matches(const char *pattern, size_t length, const char *text);
/* The same, but a pattern without a number, "graph", matches graph#0, graph#1 and so on, too. */
bool bg__glob_matches_numbered(const char *pattern, size_t length, const char *name);

/* Iterates over a list, "graph#0, !decode*". The last pattern that matches decides. */
typedef struct bg__pattern_list {
    const char *list; /* all of it */
    const char *text; /* one pattern, without '!' and blanks; NULL at first */
    size_t length;
    bool negate; /* '!' was before it */
} bg__pattern_list;
/* Moves to the next pattern. Returns false after the last one. */
bool bg__pattern_list_next(bg__pattern_list *at);

#endif
