/* Compile levels: rules replace runs of op calls in the segments of a graph by one fused or specialised op.
 *
 * A rule declares which run of calls an op can replace, and how the op's arguments follow from those of the calls:
 *
 *     BG_OP(add_rms_norm, BG_INOUT(x), BG_IN(y), BG_IN(weight), BG_OUT(n), BG_VALUE(float, epsilon)) { ... }
 *
 *     BG_RULE(add_rms_norm, add, rms_norm)
 *     {
 *         if (a1->x.data != a0->x.data)
 *             return false;
 *         args->x = a0->x;
 *         args->y = a0->y;
 *         args->weight = a1->weight;
 *         args->n = a1->y;
 *         args->epsilon = a1->epsilon;
 *         return true;
 *     }
 *
 * A capture at level 2 or 3 (bg_capture_options.level, BG_COMPILE) looks for such runs in each segment when it ends,
 * and rewrites the segment's CUDA graph: the op is captured at the place of the run, whose nodes are removed. The op
 * must write all that the calls of the run write, so that memory holds the same after a pass as without the rule.
 * Nothing changes on the path of replays. docs/compile.md has a rule written from scratch, and says where rules do not
 * pay.
 *
 * The referee: when a rule is first used for calls with certain shapes, values (BG_VALUE) and shared memory, the
 * capture runs both the calls and the op at that place of the pass, from the same memory contents, and compares all
 * that they write. A rule whose result differs beyond its tolerance is not used there, and "fusion-differs" is printed
 * with the rule, the calls, the field and the difference. On a GPU it also measures both: a rule that is slower is not
 * used. Without launch_segments there is no data for this comparison: rules are used only if they were proven before in
 * this process, or with BG_COMPILE_PROVE=off.
 *
 * Threads: rules may be set at any time, and are used by captures that begin afterwards. */
#ifndef BREAKGRAPH_COMPILE_H
#define BREAKGRAPH_COMPILE_H

#include <breakgraph/capture.h>
#include <breakgraph/op.h>

BG_BEGIN_C_

#define BG_RULE_CALLS 8

/* Properties of a rule that BG_RULE does not contain. No exception may leave its functions. */
typedef struct bg_rule_attributes {
    size_t struct_size; /* set by BG_RULE_ATTRIBUTES_INIT */
    /* Returns whether the rule may be used for calls with `rows` rows. `rows` is the first dimension of the first
     * output of the run's first call. A rule with this function is specialised for shapes: it is used at level 3 alone,
     * and only for the rows of bg_capture_options.compile_sizes. NULL: it holds for any number of rows. */
    bool (*applies)(int rows);
    /* What the referee accepts, and a shadow of the calls that the op replaces, in the form of BG_TOLERANCE without
     * names: "rel=1e-5,abs=1e-6". NULL: the same bits. For the referee, an item of BG_TOLERANCE that begins with the
     * name of the op is applied instead; for a shadow, one that names the call. The string must live as long as the
     * rule. */
    const char *tolerance;
    /* true: the op may read and write one tensor through two of its fields that name the same memory (as BG_IN and
     * BG_OUT). false: such a run is refused; a BG_INOUT field is one field. Tensors that overlap in part are always
     * refused. */
    bool in_place;
} bg_rule_attributes;

#define BG_RULE_ATTRIBUTES_INIT                                                                                        \
    {                                                                                                                  \
        sizeof(bg_rule_attributes), NULL, NULL, false                                                                  \
    }

/* A registered rule. BG_RULE fills it. */
typedef struct bg_rule {
    size_t struct_size;
    bg_op *op;                   /* the op that replaces the run */
    bg_op *calls[BG_RULE_CALLS]; /* the ops of the run's calls */
    int count;                   /* of calls */
    /* Fills args, which is zeroed, from the arguments of the calls. Returns false if the rule does not hold for
     * them. */
    bool (*match)(const void *const *calls, void *args, int rows);
    bg_site defined_at;
    /* Internal to the library. */
    struct bg_rule *next_;
    bg_rule_attributes attributes_;
} bg_rule;

/* Registers or unregisters a rule. The rule must stay valid until it is unregistered. BG_RULE calls these when the
 * program, or a shared object, is loaded and unloaded. A rule that is malformed is not used, and a line on standard
 * error says why. */
BG_API void bg_rule_register(bg_rule *rule);
BG_API void bg_rule_unregister(bg_rule *rule);

/* Sets all attributes of the rules for the op of that name; attributes NULL resets them.
 * Errors: INVALID_ARGUMENT (op is NULL, bad struct_size, a malformed tolerance), NOT_FOUND (no rule for that op). */
BG_API bg_status bg_rule_set_attributes(const char *op, const bg_rule_attributes *attributes);

/* BG_RULE(op, call, call, ...): a rule for 1 to 8 calls. Its body follows, with the arguments of the calls as a0, a1,
 * ..., `op_args *args` to fill, and `int rows`; it returns whether the run may become the op. It may only look at its
 * arguments: tensors lie on the device. */
#define BG_RULE(...)                      BG_RULE_LINE_(__LINE__, __VA_ARGS__)
#define BG_RULE_LINE_(line, op, ...)      BG_RULE_NAMED_(line, BG_COUNT_(op, __VA_ARGS__), op, __VA_ARGS__)
#define BG_RULE_NAMED_(line, n, op, ...)  BG_RULE_NAMED__(line, n, op, __VA_ARGS__)
#define BG_RULE_NAMED__(line, n, op, ...) BG_RULE_DEFINE_(op##_bg_rule_##line##_, n, op, __VA_ARGS__)
#define BG_RULE_DEFINE_(rule, n, op, ...)                                                                              \
    typedef char rule##has_at_most_8_calls_[(n) <= BG_RULE_CALLS ? 1 : -1] BG_UNUSED_;                                 \
    static bool rule##match_(BG_RULE_TAKES_##n(__VA_ARGS__), op##_args *args, int rows);                               \
    BG_RULE_ENTRY_(rule, BG_RULE_GIVES_##n(__VA_ARGS__), op)                                                           \
    static bg_rule rule##record_ = {                                                                                   \
        sizeof(bg_rule),      &op##_bg_op_, {BG_RULE_OPS_##n(__VA_ARGS__)}, n, rule##entry_,                           \
        {__FILE__, __LINE__}, NULL,         BG_RULE_ATTRIBUTES_INIT};                                                  \
    __attribute__((constructor)) static void rule##register_(void)                                                     \
    {                                                                                                                  \
        bg_rule_register(&rule##record_);                                                                              \
    }                                                                                                                  \
    __attribute__((destructor)) static void rule##unregister_(void)                                                    \
    {                                                                                                                  \
        bg_rule_unregister(&rule##record_);                                                                            \
    }                                                                                                                  \
    static bool rule##match_(BG_RULE_TAKES_##n(__VA_ARGS__), op##_args *args BG_UNUSED_, int rows BG_UNUSED_)
#define BG_RULE_ENTRY_(rule, gives, op)                                                                                \
    static bool rule##entry_(const void *const *calls, void *args, int rows)                                           \
    {                                                                                                                  \
        return rule##match_(gives, BG_CAST_(op##_args *, args), rows);                                                 \
    }

#define BG_RULE_TAKE_(call, name)               const call##_args *name BG_UNUSED_
#define BG_RULE_GIVE_(call, i)                  BG_CAST_(const call##_args *, calls[i])
#define BG_RULE_TAKES_1(a)                      BG_RULE_TAKE_(a, a0)
#define BG_RULE_TAKES_2(a, b)                   BG_RULE_TAKES_1(a), BG_RULE_TAKE_(b, a1)
#define BG_RULE_TAKES_3(a, b, c)                BG_RULE_TAKES_2(a, b), BG_RULE_TAKE_(c, a2)
#define BG_RULE_TAKES_4(a, b, c, d)             BG_RULE_TAKES_3(a, b, c), BG_RULE_TAKE_(d, a3)
#define BG_RULE_TAKES_5(a, b, c, d, e)          BG_RULE_TAKES_4(a, b, c, d), BG_RULE_TAKE_(e, a4)
#define BG_RULE_TAKES_6(a, b, c, d, e, f)       BG_RULE_TAKES_5(a, b, c, d, e), BG_RULE_TAKE_(f, a5)
#define BG_RULE_TAKES_7(a, b, c, d, e, f, g)    BG_RULE_TAKES_6(a, b, c, d, e, f), BG_RULE_TAKE_(g, a6)
#define BG_RULE_TAKES_8(a, b, c, d, e, f, g, h) BG_RULE_TAKES_7(a, b, c, d, e, f, g), BG_RULE_TAKE_(h, a7)
#define BG_RULE_GIVES_1(a)                      BG_RULE_GIVE_(a, 0)
#define BG_RULE_GIVES_2(a, b)                   BG_RULE_GIVES_1(a), BG_RULE_GIVE_(b, 1)
#define BG_RULE_GIVES_3(a, b, c)                BG_RULE_GIVES_2(a, b), BG_RULE_GIVE_(c, 2)
#define BG_RULE_GIVES_4(a, b, c, d)             BG_RULE_GIVES_3(a, b, c), BG_RULE_GIVE_(d, 3)
#define BG_RULE_GIVES_5(a, b, c, d, e)          BG_RULE_GIVES_4(a, b, c, d), BG_RULE_GIVE_(e, 4)
#define BG_RULE_GIVES_6(a, b, c, d, e, f)       BG_RULE_GIVES_5(a, b, c, d, e), BG_RULE_GIVE_(f, 5)
#define BG_RULE_GIVES_7(a, b, c, d, e, f, g)    BG_RULE_GIVES_6(a, b, c, d, e, f), BG_RULE_GIVE_(g, 6)
#define BG_RULE_GIVES_8(a, b, c, d, e, f, g, h) BG_RULE_GIVES_7(a, b, c, d, e, f, g), BG_RULE_GIVE_(h, 7)
#define BG_RULE_OPS_1(a)                        &a##_bg_op_
#define BG_RULE_OPS_2(a, b)                     BG_RULE_OPS_1(a), &b##_bg_op_
#define BG_RULE_OPS_3(a, b, c)                  BG_RULE_OPS_2(a, b), &c##_bg_op_
#define BG_RULE_OPS_4(a, b, c, d)               BG_RULE_OPS_3(a, b, c), &d##_bg_op_
#define BG_RULE_OPS_5(a, b, c, d, e)            BG_RULE_OPS_4(a, b, c, d), &e##_bg_op_
#define BG_RULE_OPS_6(a, b, c, d, e, f)         BG_RULE_OPS_5(a, b, c, d, e), &f##_bg_op_
#define BG_RULE_OPS_7(a, b, c, d, e, f, g)      BG_RULE_OPS_6(a, b, c, d, e, f), &g##_bg_op_
#define BG_RULE_OPS_8(a, b, c, d, e, f, g, h)   BG_RULE_OPS_7(a, b, c, d, e, f, g), &h##_bg_op_

/* ---- results of compilation -------------------------------------------------------------------------------------- */

/* A run of calls that a rule replaces, or nearly fits. */
typedef enum bg_fusion_state {
    BG_FUSION_APPLIED,  /* the op is in the graph */
    BG_FUSION_FITS,     /* the rule fits, but level 1 changes nothing */
    BG_FUSION_REFUSED,  /* a near miss: the calls are those of the rule, but it cannot be used; `why` has the reason */
    BG_FUSION_OFF,      /* excluded by BG_COMPILE_OPS, or by the rule's shapes */
    BG_FUSION_COVERED,  /* a rule of more calls has replaced some of its calls */
    BG_FUSION_UNPROVEN, /* the referee could not run, for example since nothing is launched at capture */
    BG_FUSION_DIFFERS,  /* the referee found another result */
    BG_FUSION_SLOWER    /* the referee measured a longer time */
} bg_fusion_state;

typedef struct bg_fusion {
    size_t struct_size; /* set by BG_FUSION_INIT */
    const char *name;   /* "add_rms_norm[add#3, rms_norm#4]" */
    const char *op;     /* of the rule: "add_rms_norm" */
    int number;         /* BG_COMPILE_OPS names the run by it: "add_rms_norm#3" */
    const char *file;   /* of its first call; "" where unknown */
    int line;
    bg_fusion_state state;
    const char *why; /* a sentence that says why the rule was not applied; "": it was applied */
    int segment;
    bool proven;            /* in this process, for these shapes */
    double calls_us, op_us; /* measured by the referee, in microseconds; 0: not measured */
} bg_fusion;

#define BG_FUSION_INIT                                                                                                 \
    {                                                                                                                  \
        sizeof(bg_fusion), NULL, NULL, 0, NULL, 0, BG_FUSION_REFUSED, NULL, 0, false, 0.0, 0.0                         \
    }

/* Figures of a graph's compilation. Zero at level 0. */
typedef struct bg_compile_info {
    size_t struct_size; /* set by BG_COMPILE_INFO_INIT */
    int level;          /* 0 to 3 */
    int pieces;         /* segments that were searched for runs */
    int fusions;        /* entries for bg_graph_get_fusion */
    int applied;        /* runs that have become one op */
    int refused;        /* near misses */
    int proofs;         /* comparisons that this capture has made */
    int dropped;        /* runs that the referee has refused (DIFFERS or SLOWER) */
    int unproven;
    size_t nodes_before, nodes_after; /* of all pieces */
    double proof_ms;                  /* milliseconds that proofs took, measuring included */
} bg_compile_info;

#define BG_COMPILE_INFO_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(bg_compile_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0                                                     \
    }

/* Copies the figures to *info. Errors: INVALID_ARGUMENT (a NULL, bad struct_size). */
BG_API bg_status bg_graph_get_compile_info(const bg_graph *graph, bg_compile_info *info);

/* Copies the index-th entry to *fusion, 0 <= index < fusions, in order of the pass. The strings are valid as long as
 * the graph. Errors: INVALID_ARGUMENT (a NULL, bad struct_size), NOT_FOUND (no such index). */
BG_API bg_status bg_graph_get_fusion(const bg_graph *graph, int index, bg_fusion *fusion);

/* ---- compilers and passes ---------------------------------------------------------------------------------------- */

/* A segment that is compiled. */
typedef struct bg_piece bg_piece;

/* Return the piece's graph, its name ("segment 0 of decode"), the rows of its first call, and how many op calls and
 * nodes it has. A compiler may not change the graph itself: later versions may hold it elsewhere. */
BG_API cudaGraph_t bg_piece_graph(const bg_piece *piece);
BG_API const char *bg_piece_name(const bg_piece *piece);
BG_API int bg_piece_rows(const bg_piece *piece);
BG_API int bg_piece_calls(const bg_piece *piece);
BG_API size_t bg_piece_nodes(const bg_piece *piece);

/* One step of a compiler. */
typedef struct bg_pass {
    const char *name;
    bool (*applies)(int rows);         /* NULL: always */
    bg_status (*run)(bg_piece *piece); /* an error fails the capture */
} bg_pass;

/* The built-in passes.
 *   PRINT:  writes the piece's calls to standard error, where BG_COMPILE_PRINT=1
 *   NO_OPS: removes empty nodes and copies of memory to itself, at levels 2 and 3
 *   RULES:  finds runs of calls, proves rules and applies them, as the level says; a second one does nothing */
BG_API extern const bg_pass bg_pass_print, bg_pass_no_ops, bg_pass_rules;

/* Compiles the pieces of captures with a level. "none" leaves them as they are; "rules", the default, runs PRINT,
 * NO_OPS, RULES and PRINT. */
typedef struct bg_compiler {
    size_t struct_size; /* sizeof(bg_compiler) */
    const char *name;
    bg_status (*compile)(void *user, bg_piece *piece); /* an error fails the capture */
    void *user;
} bg_compiler;

/* Runs passes over a piece, in order, for a compiler of the program's own. Returns the first error; INVALID_ARGUMENT: a
 * NULL, or a pass without a `name` or a `run`. */
BG_API bg_status bg_passes_run(const bg_pass *const *passes, int count, bg_piece *piece);

/* Sets the compiler of captures that begin afterwards; *compiler must stay valid. NULL: "rules". bg_compiler_find
 * returns "none" or "rules", NULL for any other name. Errors: INVALID_ARGUMENT (no name, no function, bad struct_size).
 */
BG_API bg_status bg_compiler_set(const bg_compiler *compiler);
BG_API const bg_compiler *bg_compiler_find(const char *name);

/* ---- a forward pass that compiles itself ------------------------------------------------------------------------- */

/* A pass and its compiled graph, which bg_compiled_run makes at its first use. */
typedef struct bg_compiled bg_compiled;

/* Makes *compiled, which runs forward(user, stream); `user` must outlive it. options: those of the capture; NULL: the
 * defaults, at level 3 if BG_COMPILE is not set. They are copied, but not the objects that their pointers name. Nothing
 * is captured yet.
 * Errors: INVALID_ARGUMENT (a NULL, an invalid option), OUT_OF_MEMORY. */
BG_API bg_status bg_compile(bg_compiled **compiled, bg_forward forward, void *user, const bg_capture_options *options);

/* A bg_forward, whose user is a bg_compiled: if the calling thread's flag is off, and inside any capture or eager pass,
 * it runs forward(user, stream) itself; else it replays the graph on stream. The first replay captures the graph, which
 * runs the pass if launch_segments is set. If the capture fails, this run fails, and the next one captures again. One
 * thread at a time. Errors: those of `forward`, or of bg_capture_forward and bg_replay. */
BG_API bg_status bg_compiled_run(void *compiled, cudaStream_t stream);

/* Returns the graph of `compiled`, which keeps it, or NULL before the first replay. */
BG_API bg_graph *bg_compiled_graph(const bg_compiled *compiled);

/* Destroys `compiled` and its graph. NULL does nothing. */
BG_API void bg_compiled_destroy(bg_compiled *compiled);

/* Sets the calling thread's flag, which is off at first, and returns its old value. */
BG_API bool bg_compiled_set(bool on);

/* BG_COMPILED(true) { ... } runs the block with the flag set, and sets it back however the block is left. */
typedef struct bg_compiled_scope_ {
    bool before, once;
} bg_compiled_scope_;
static inline void bg_compiled_leave_(const bg_compiled_scope_ *scope)
{
    (void)bg_compiled_set(scope->before);
}
#define BG_COMPILED(on)             BG_COMPILED_LINE_(on, __LINE__)
#define BG_COMPILED_LINE_(on, line) BG_COMPILED_NAMED_(on, line)
#define BG_COMPILED_NAMED_(on, line)                                                                                   \
    for (bg_compiled_scope_ bg_scope_##line                                                                            \
         __attribute__((cleanup(bg_compiled_leave_))) = {bg_compiled_set(on), true};                                   \
         bg_scope_##line.once; bg_scope_##line.once = false)

BG_END_C_

#endif
