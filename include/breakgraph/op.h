/* Ops: functions that a forward pass is made of. A macro declares an op's arguments, registers it and opens its body:
 *
 *     BG_EAGER_OP(sample_top_k, BG_IN(logits), BG_OUT(token), BG_VALUE(int, k))
 *     {
 *         ... here: sample_top_k_args *args, cudaStream_t stream; returns bg_status ...
 *     }
 *     BG_CALL(sample_top_k, stream, .logits = logits, .token = token, .k = 50);
 *
 * Outside a capture a call is a plain function call. Inside one, a BG_OP is captured and a BG_EAGER_OP is a break: it
 * runs between two CUDA graphs, at capture and in every replay. In a pass that runs eagerly (bg_forward_run, a runner)
 * calls run at once, in the order that the capture would give them.
 *
 * Threads: calls may come from any thread; attributes and overrides of an op are set before captures that use
 * it. C99 to C23, C++11 and later, nvcc; gcc or clang. */
#ifndef BREAKGRAPH_OP_H
#define BREAKGRAPH_OP_H

#include <breakgraph/status.h>
#include <breakgraph/tensor.h>

BG_BEGIN_C_

/* Where a call stands in the program. */
typedef struct bg_site {
    const char *file;
    int line;
} bg_site;

/* An op's body: issues its work on stream, or on streams of its own that it joins to stream, and returns the first
 * error. args points to its NAME_args. It may leave a BG_OUT tensor pointing elsewhere: the result is then copied to
 * where the caller expects it, so that memory from anywhere but bg_scratch must stay as it is until that call runs
 * again; two outputs may not change places. An eager body may also synchronise, allocate and compile; what it sets for
 * its thread (cudaSetDevice) it sets back. In C++ an exception that leaves a body ends the program. */
typedef bg_status (*bg_op_body)(void *args, cudaStream_t stream);

/* Fills shape and dtype of the outputs in args from its inputs, without running anything. */
typedef bg_status (*bg_op_shape)(void *args);

/* In which batches an op may be part of a full graph, which has no breaks.
 *   ALWAYS:              in all
 *   UNIFORM_BATCH:       where every request has the same number of query tokens
 *   SINGLE_TOKEN_DECODE: where every request has one
 *   NEVER:               in none */
typedef enum bg_support {
    BG_SUPPORT_ALWAYS,
    BG_SUPPORT_UNIFORM_BATCH,
    BG_SUPPORT_SINGLE_TOKEN_DECODE,
    BG_SUPPORT_NEVER
} bg_support;

typedef enum bg_role { BG_ROLE_IN, BG_ROLE_OUT, BG_ROLE_INOUT, BG_ROLE_OUTS, BG_ROLE_VALUE } bg_role;

/* One member of NAME_args. */
typedef struct bg_field {
    const char *name;
    bg_role role;
    uint32_t offset, size; /* bytes; an OUTS field holds size / sizeof(bg_tensor) tensors */
} bg_field;

/* What a program may say of an op beside its declaration. */
typedef struct bg_op_attributes {
    size_t struct_size; /* set by BG_OP_ATTRIBUTES_INIT */
    /* Runs at capture instead of the body where the op is a break; replays run the body. NULL: the body runs at
     * capture, too. */
    bg_op_body capture_stub;
    /* A slow and right body, with which the debugging tools compare the op's own. NULL: none. */
    bg_op_body reference;
    /* Gives the outputs' shapes without running the op, for an output without memory and with rank 0, and where a
     * capture launches nothing. NULL: the body gives them. */
    bg_op_shape shape;
    /* Whether the body may leave outputs with fewer rows (dim[0]) than the caller expects, as a sampler that stops
     * early does. The rows beyond are left as they are or, in a capture with options.zero_tail, zeroed. */
    bool allow_fewer_rows;
    /* In which batches a runner may capture the op, eager or not, as part of a full graph. A runner whose mode asks for
     * more lowers the mode, with a warning. */
    bg_support graph_support;
} bg_op_attributes;

#define BG_OP_ATTRIBUTES_INIT                                                                                          \
    {                                                                                                                  \
        sizeof(bg_op_attributes), NULL, NULL, NULL, false, BG_SUPPORT_ALWAYS                                           \
    }

/* A registered op. The macros fill it; read it through the functions below. */
typedef struct bg_op {
    size_t struct_size;
    const char *name;
    bg_op_body body;
    const bg_field *fields;
    uint32_t field_count, args_size;
    bool eager;
    bg_site defined_at;
    /* The registry's own. */
    struct bg_op *next_;
    const struct bg_op *twin_;
    bg_op_attributes attributes_;
} bg_op;

/* Called by the macros when the program, or a shared object, is loaded and unloaded. A graph whose ops are unloaded may
 * only be destroyed. */
BG_API void bg_op_register(bg_op *op);
BG_API void bg_op_unregister(bg_op *op);

/* The op of that name, NULL where there is none. */
BG_API const bg_op *bg_op_find(const char *name);

/* Sets all attributes of the op of that name: what attributes leaves unset is the default again. NULL: all defaults.
 * Errors: INVALID_ARGUMENT (name is NULL, struct_size, no bg_support), NOT_FOUND. */
BG_API bg_status bg_op_set_attributes(const char *name, const bg_op_attributes *attributes);

/* Which ops are eager, in captures that begin after this call, in place of how they are declared: a list of patterns
 * with commas between, "attention,moe_*,rope#3,!sample_*". A bare name matches that op at any depth; name#k the k-th
 * call of it at the top level, from 0; a path with '/' what it says, a part without '#' standing for every call of that
 * op. '*' matches any characters but '/', '!' makes what it matches captured; the last pattern that matches a call
 * decides. Nothing between two commas is no pattern. It replaces what was set before; NULL, or a list without patterns,
 * clears it. The environment variable BG_EAGER_OPS has the same form, or is "@FILE", for a list from a file, where an
 * end of line stands for a comma; it comes after it. BG_BREAKABLE=0 in the environment captures everything inline. An
 * op that is declared eager and captured all the same joins the streams of the capture and forks them again, as its
 * break would. Errors: INVALID_ARGUMENT, with the pattern that is wrong; OUT_OF_MEMORY. */
BG_API bg_status bg_override_eager(const char *pattern);

/* The one entry: every call comes through here. args is a NAME_args. On return each BG_OUT and BG_INOUT tensor in args
 * is the caller's own, or, where the caller gave no memory, a bridge buffer of the shape that the caller gave or, with
 * rank 0, the body: in a capture the graph owns it; in a pass that runs eagerly (bg_forward_run, a runner) it lasts as
 * long as the pass; elsewhere it belongs to the library, and lasts until the same line calls the op again in the same
 * thread, or the thread ends; after a failure it is NULL. The other members are the caller's, unchanged.
 *
 * Inside a capture, and in a pass that runs eagerly, an error sticks: later calls return it without running, and the
 * end returns it. What fails inside an eager body is that body's to handle. Errors: INVALID_ARGUMENT (a NULL, an
 * invalid tensor, two ops of one name), the body's own status, SHAPE and DTYPE (the body changed an output's), OP (it
 * left an output without memory), WRONG_THREAD, FOREIGN_CAPTURE (an eager op on a stream that someone else captures;
 * BG_FOREIGN_INLINE=1 in the environment runs it inline), CAPTURE_INVALID, UNTRACKED_STREAM, OUT_OF_MEMORY, CUDA. */
BG_API bg_status bg_op_call(const bg_op *op, cudaStream_t stream, void *args, const bg_site *site);

/* Device memory for a body, captured or not: args is the body's own argument pointer. Each call in a body gives a block
 * of its own, aligned to 256 bytes, the same one in every replay as long as it is large enough; the library owns it. In
 * a capture it lives as long as the graph; in a plain call until the work queued on the body's stream is done. bytes 0
 * gives NULL. Errors: INVALID_ARGUMENT (not inside the body of args), OUT_OF_MEMORY. */
BG_API bg_status bg_scratch(void *args, size_t bytes, void **ptr);

BG_END_C_

/* ---- the macros ---------------------------------------------------------------------------------------------- */

/* Fields. BG_OUTS is an array of n output tensors; BG_VALUE any trivially copyable type (one with a comma wants a
 * typedef). At most 32. */
#define BG_IN(name)          (IN, bg_tensor, name)
#define BG_OUT(name)         (OUT, bg_tensor, name)
#define BG_INOUT(name)       (INOUT, bg_tensor, name)
#define BG_OUTS(name, n)     (OUTS, bg_tensor[n], name)
#define BG_VALUE(type, name) (VALUE, type, name)

/* Declare and define an op in one source file; the body follows. */
#define BG_OP(...)       BG_ARGS_(__VA_ARGS__) BG_BODY_(static, BG_FIRST_(__VA_ARGS__), false)
#define BG_EAGER_OP(...) BG_ARGS_(__VA_ARGS__) BG_BODY_(static, BG_FIRST_(__VA_ARGS__), true)

/* The same across files: the declaration, with the fields, in a header; the definition, without, in one source file. */
#define BG_DECLARE_OP(...)       BG_ARGS_(__VA_ARGS__) BG_DECLARE_(BG_FIRST_(__VA_ARGS__))
#define BG_DEFINE_OP(name)       BG_BODY_(, name, false)
#define BG_DEFINE_EAGER_OP(name) BG_BODY_(, name, true)

/* BG_CALL(name, stream, .field = value, ...): an expression of type bg_status. Fields not named are zero, the others in
 * any order. In C++ each is an assignment, with its conversions, and a value that has commas outside of parentheses
 * needs some: .x = (bg_tensor{data, BG_F32, 1, {n}}).
 * BG_CALL_ARGS(name, stream, &args): the same with a NAME_args of the caller's, in which the outputs come back. */
#define BG_CALL(...) BG_CALL_(__VA_ARGS__, .bg_reserved_ = 0)
#define BG_CALL_ARGS(name, stream, args)                                                                               \
    bg_op_call(&name##_bg_op_, stream, true ? (args) : BG_NULL_(name##_args), BG_SITE)

#ifdef __cplusplus
#define BG_SITE                                                                                                        \
    ([]() -> const bg_site * {                                                                                         \
        static const bg_site bg_site_ = {__FILE__, __LINE__};                                                          \
        return &bg_site_;                                                                                              \
    }())
#define BG_ASSIGN_(name, assignment) bg_args_ assignment;
#define BG_CALL_(name, stream, ...)                                                                                    \
    __extension__({                                                                                                    \
        static const bg_site bg_site_ = {__FILE__, __LINE__};                                                          \
        name##_args bg_args_ = name##_args();                                                                          \
        BG_EACH_(BG_ASSIGN_, name, __VA_ARGS__)                                                                        \
        bg_op_call(&name##_bg_op_, stream, &bg_args_, &bg_site_);                                                      \
    })
#define BG_EXTERN_               extern "C"
#define BG_NOEXCEPT_             noexcept
#define BG_NULL_(type)           static_cast<type *>(nullptr)
#define BG_SIZE_OF_(name, field) sizeof(name::field)
#define BG_CHECK_COPYABLE_(type, name)                                                                                 \
    static_assert(__is_trivially_copyable(__typeof__(type)),                                                           \
                  "BG_VALUE(" #name "): the type must be trivially copyable");
#else
#define BG_SITE (&(const bg_site){__FILE__, __LINE__})
#define BG_CALL_(name, stream, ...)                                                                                    \
    bg_op_call(&name##_bg_op_, stream, &(name##_args){__VA_ARGS__}, &(const bg_site){__FILE__, __LINE__})
#define BG_EXTERN_ extern
#define BG_NOEXCEPT_
#define BG_NULL_(type)           ((type *)0)
#define BG_SIZE_OF_(name, field) sizeof(((name *)0)->field)
#define BG_CHECK_COPYABLE_(type, name)
#endif

#define BG_UNUSED_         __attribute__((unused))
#define BG_FIRST_(...)     BG_FIRST__(__VA_ARGS__, ~)
#define BG_FIRST__(a, ...) a
#define BG_UNPAREN_(...)   __VA_ARGS__

/* struct NAME_args, and the table of its fields. The last member keeps an op without fields legal. */
#define BG_ARGS_(...)        BG_ARGS__(BG_FIRST_(__VA_ARGS__), __VA_ARGS__)
#define BG_ARGS__(name, ...) BG_ARGS___(name, __VA_ARGS__)
#define BG_ARGS___(name, ...)                                                                                          \
    typedef struct name##_args {                                                                                       \
        BG_EACH_(BG_MEMBER_, __VA_ARGS__)                                                                              \
        int bg_reserved_;                                                                                              \
    } name##_args;                                                                                                     \
    static const bg_field name##_bg_fields_[] BG_UNUSED_ = {                                                           \
        BG_EACH_(BG_FIELD_, __VA_ARGS__){"", BG_ROLE_VALUE, 0, 0}};                                                    \
    typedef char name##_bg_has_at_most_32_fields_[sizeof name##_bg_fields_ / sizeof name##_bg_fields_[0] <= 33         \
                                                      ? 1                                                              \
                                                      : -1] BG_UNUSED_;
#define BG_MEMBER_(name, field) BG_MEMBER__ field
#define BG_MEMBER__(role, type, member)                                                                                \
    BG_CHECK_COPYABLE_(type, member)                                                                                   \
    __typeof__(type) member;
#define BG_FIELD_(name, field) BG_FIELD__(name, BG_UNPAREN_ field)
#define BG_FIELD__(...)        BG_FIELD___(__VA_ARGS__)
#define BG_FIELD___(name, role, type, member)                                                                          \
    {#member, BG_ROLE_##role, BG_CAST_(uint32_t, offsetof(struct name##_args, member)),                                \
     BG_CAST_(uint32_t, BG_SIZE_OF_(name##_args, member))},

/* The op's entry in the registry, and the opening of its body. */
#define BG_DECLARE_(name)              BG_DECLARE__(name)
#define BG_DECLARE__(name)             BG_EXTERN_ bg_op name##_bg_op_;
#define BG_BODY_(linkage, name, eager) BG_BODY__(linkage, name, eager)
#define BG_BODY__(linkage, name, eager)                                                                                \
    static bg_status name##_bg_body_(name##_args *args, cudaStream_t stream);                                          \
    static bg_status name##_bg_entry_(void *args, cudaStream_t stream) BG_NOEXCEPT_                                    \
    {                                                                                                                  \
        return name##_bg_body_(BG_CAST_(name##_args *, args), stream);                                                 \
    }                                                                                                                  \
    linkage bg_op name##_bg_op_ = {sizeof(bg_op),                                                                      \
                                   #name,                                                                              \
                                   name##_bg_entry_,                                                                   \
                                   name##_bg_fields_,                                                                  \
                                   BG_CAST_(uint32_t, sizeof name##_bg_fields_ / sizeof name##_bg_fields_[0] - 1),     \
                                   BG_CAST_(uint32_t, sizeof(name##_args)),                                            \
                                   eager,                                                                              \
                                   {__FILE__, __LINE__},                                                               \
                                   NULL,                                                                               \
                                   NULL,                                                                               \
                                   BG_OP_ATTRIBUTES_INIT};                                                             \
    __attribute__((constructor)) static void name##_bg_register_(void)                                                 \
    {                                                                                                                  \
        bg_op_register(&name##_bg_op_);                                                                                \
    }                                                                                                                  \
    __attribute__((destructor)) static void name##_bg_unregister_(void)                                                \
    {                                                                                                                  \
        bg_op_unregister(&name##_bg_op_);                                                                              \
    }                                                                                                                  \
    static bg_status name##_bg_body_(name##_args *args BG_UNUSED_, cudaStream_t stream BG_UNUSED_)

/* BG_EACH_(M, first, a, b, ...): M(first, a) M(first, b) ... */
#define BG_CAT_(a, b)    BG_CAT__(a, b)
#define BG_CAT__(a, b)   a##b
#define BG_EACH_(M, ...) BG_CAT_(BG_EACH_, BG_COUNT_(__VA_ARGS__))(M, __VA_ARGS__)
#define BG_COUNT_(...)                                                                                                 \
    BG_COUNT__(__VA_ARGS__, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY,  \
               MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, 33, 32, \
               31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5,  \
               4, 3, 2, 1, 0, ~)
#define BG_COUNT__(first, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20,   \
                   _21, _22, _23, _24, _25, _26, _27, _28, _29, _30, _31, _32, _33, _34, _35, _36, _37, _38, _39, _40, \
                   _41, _42, _43, _44, _45, _46, _47, _48, _49, _50, _51, _52, _53, _54, _55, _56, _57, _58, _59, _60, \
                   _61, _62, _63, _64, n, ...)                                                                         \
    n
#define BG_EACH_MANY(M, ...) BG_TOO_MANY_FIELDS_at_most_32_are_allowed
#define BG_EACH_0(M, o)
#define BG_EACH_1(M, o, a)       M(o, a)
#define BG_EACH_2(M, o, a, ...)  M(o, a) BG_EACH_1(M, o, __VA_ARGS__)
#define BG_EACH_3(M, o, a, ...)  M(o, a) BG_EACH_2(M, o, __VA_ARGS__)
#define BG_EACH_4(M, o, a, ...)  M(o, a) BG_EACH_3(M, o, __VA_ARGS__)
#define BG_EACH_5(M, o, a, ...)  M(o, a) BG_EACH_4(M, o, __VA_ARGS__)
#define BG_EACH_6(M, o, a, ...)  M(o, a) BG_EACH_5(M, o, __VA_ARGS__)
#define BG_EACH_7(M, o, a, ...)  M(o, a) BG_EACH_6(M, o, __VA_ARGS__)
#define BG_EACH_8(M, o, a, ...)  M(o, a) BG_EACH_7(M, o, __VA_ARGS__)
#define BG_EACH_9(M, o, a, ...)  M(o, a) BG_EACH_8(M, o, __VA_ARGS__)
#define BG_EACH_10(M, o, a, ...) M(o, a) BG_EACH_9(M, o, __VA_ARGS__)
#define BG_EACH_11(M, o, a, ...) M(o, a) BG_EACH_10(M, o, __VA_ARGS__)
#define BG_EACH_12(M, o, a, ...) M(o, a) BG_EACH_11(M, o, __VA_ARGS__)
#define BG_EACH_13(M, o, a, ...) M(o, a) BG_EACH_12(M, o, __VA_ARGS__)
#define BG_EACH_14(M, o, a, ...) M(o, a) BG_EACH_13(M, o, __VA_ARGS__)
#define BG_EACH_15(M, o, a, ...) M(o, a) BG_EACH_14(M, o, __VA_ARGS__)
#define BG_EACH_16(M, o, a, ...) M(o, a) BG_EACH_15(M, o, __VA_ARGS__)
#define BG_EACH_17(M, o, a, ...) M(o, a) BG_EACH_16(M, o, __VA_ARGS__)
#define BG_EACH_18(M, o, a, ...) M(o, a) BG_EACH_17(M, o, __VA_ARGS__)
#define BG_EACH_19(M, o, a, ...) M(o, a) BG_EACH_18(M, o, __VA_ARGS__)
#define BG_EACH_20(M, o, a, ...) M(o, a) BG_EACH_19(M, o, __VA_ARGS__)
#define BG_EACH_21(M, o, a, ...) M(o, a) BG_EACH_20(M, o, __VA_ARGS__)
#define BG_EACH_22(M, o, a, ...) M(o, a) BG_EACH_21(M, o, __VA_ARGS__)
#define BG_EACH_23(M, o, a, ...) M(o, a) BG_EACH_22(M, o, __VA_ARGS__)
#define BG_EACH_24(M, o, a, ...) M(o, a) BG_EACH_23(M, o, __VA_ARGS__)
#define BG_EACH_25(M, o, a, ...) M(o, a) BG_EACH_24(M, o, __VA_ARGS__)
#define BG_EACH_26(M, o, a, ...) M(o, a) BG_EACH_25(M, o, __VA_ARGS__)
#define BG_EACH_27(M, o, a, ...) M(o, a) BG_EACH_26(M, o, __VA_ARGS__)
#define BG_EACH_28(M, o, a, ...) M(o, a) BG_EACH_27(M, o, __VA_ARGS__)
#define BG_EACH_29(M, o, a, ...) M(o, a) BG_EACH_28(M, o, __VA_ARGS__)
#define BG_EACH_30(M, o, a, ...) M(o, a) BG_EACH_29(M, o, __VA_ARGS__)
#define BG_EACH_31(M, o, a, ...) M(o, a) BG_EACH_30(M, o, __VA_ARGS__)
#define BG_EACH_32(M, o, a, ...) M(o, a) BG_EACH_31(M, o, __VA_ARGS__)
#define BG_EACH_33(M, o, a, ...) M(o, a) BG_EACH_32(M, o, __VA_ARGS__)

#endif
