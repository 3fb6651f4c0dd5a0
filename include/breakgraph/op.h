/* Ops: the functions that a forward pass consists of. A macro declares an op's arguments, registers the op and opens
 * its body:
 *
 *     BG_EAGER_OP(sample_top_k, BG_IN(logits), BG_OUT(token), BG_VALUE(int, k))
 *     {
 *         ... here: sample_top_k_args *args, cudaStream_t stream; returns bg_status ...
 *     }
 *     BG_CALL(sample_top_k, stream, .logits = logits, .token = token, .k = 50);
 *
 * Outside a capture a call is a plain function call. In a capture, a BG_OP is captured; a BG_EAGER_OP is a break: its
 * body runs between two segments, in every replay, and at capture if segments are launched there. In an eager pass
 * (bg_forward_run, a runner's warm-ups and eager runs) each call runs when it is made. An eager op first joins the
 * pass's streams, and forks them again after it, as its break does in a capture.
 * Threads: calls may come from any thread. Set an op's attributes and overrides before the captures that use it.
 * Languages: C99 to C23, C++11 and later, nvcc; gcc or clang. */
#ifndef BREAKGRAPH_OP_H
#define BREAKGRAPH_OP_H

#include <breakgraph/status.h>
#include <breakgraph/tensor.h>

#ifdef __cpp_exceptions
extern "C++" { /* a program may include this header in extern "C" */
#include <cstdlib>
#include <exception>
}
#endif

BG_BEGIN_C_

/* Where a call is in the program's source. If the call takes several lines, line is the first with gcc and the last
 * with clang. */
typedef struct bg_site {
    const char *file;
    int line;
} bg_site;

/* An op's body: queues its work on stream, or on its own streams that it joins to stream. args points to the op's
 * NAME_args. Returns the first error.
 * The body may change the data pointer of a BG_OUT tensor: the result is then copied to the caller's memory. Memory
 * that such a pointer refers to, unless bg_scratch returned it, must keep its contents until this call runs again. Two
 * outputs must not exchange their pointers.
 * An eager body may also synchronize, allocate and compile. It must restore what it sets for its thread, such as the
 * device of cudaSetDevice. In C++ an exception that leaves the body of a macro's op becomes BG_ERROR_OP, with its
 * what() in bg_last_error(); breakgraph/breakgraph.hpp has more for C++. */
typedef bg_status (*bg_op_body)(void *args, cudaStream_t stream);

/* Sets shape and dtype of the outputs in args from its inputs. Runs no work. */
typedef bg_status (*bg_op_shape)(void *args);

/* In which batches a full graph, which has no breaks, may contain an op.
 *   ALWAYS:              in all
 *   UNIFORM_BATCH:       where every request has the same number of query tokens
 *   SINGLE_TOKEN_DECODE: where every request has one query token
 *   NEVER:               in none */
typedef enum bg_support {
    BG_SUPPORT_ALWAYS,
    BG_SUPPORT_UNIFORM_BATCH,
    BG_SUPPORT_SINGLE_TOKEN_DECODE,
    BG_SUPPORT_NEVER
} bg_support;

/* The kind of a field, as the macro that declares it: BG_IN, BG_OUT, BG_INOUT, BG_OUTS, BG_VALUE, BG_RESULT. The fields
 * of a BG_FIELDS struct take its place when the op is registered. */
typedef enum bg_role {
    BG_ROLE_IN,
    BG_ROLE_OUT,
    BG_ROLE_INOUT,
    BG_ROLE_OUTS,
    BG_ROLE_VALUE,
    BG_ROLE_RESULT,
    BG_ROLE_STRUCT /* only before the op is registered */
} bg_role;

/* One member of NAME_args. */
typedef struct bg_field {
    const char *name;
    bg_role role;
    uint32_t offset, size; /* in bytes; a BG_OUTS field holds size / sizeof(bg_tensor) tensors */
    const char *type;      /* as the macro spells it: "int"; NULL: not known. STRUCT: its table of fields */
} bg_field;

#define BG_ROW_LIMITS 4

/* Properties of an op that its declaration does not contain. No exception may leave its functions. */
typedef struct bg_op_attributes {
    size_t struct_size; /* set by BG_OP_ATTRIBUTES_INIT */
    /* Runs at capture in place of the body where the op is a break; replays run the body. NULL: the body runs at
     * capture, too; without launch_segments, only if it must set the shape of an output. */
    bg_op_body capture_stub;
    /* A slow but correct body. The debugging tools compare the op's own body with it. NULL: none. */
    bg_op_body reference;
    /* Sets the outputs' shapes without running the op. Used for outputs that have neither memory nor a shape
     * (data NULL, rank 0), so that a capture without launch_segments need not run the body. NULL: the body sets the
     * shapes. */
    bg_op_shape shape;
    /* true: the body may leave outputs with fewer rows (dim[0]) than the caller expects, as a sampler that stops early
     * does. The remaining rows are left unchanged or, in a capture with options.zero_tail, set to zero. */
    bool allow_fewer_rows;
    /* In which batches a runner may capture the op, eager or not, in a full graph. A runner whose mode needs more
     * lowers its mode and prints a warning. */
    bg_support graph_support;
    /* The numbers of rows beyond which the op uses another kernel, ascending, such as 2048; 0 ends the list. A runner
     * adds these sizes to its schedule, so that padding moves no batch beyond one of them, and the batch uses the same
     * kernels as without padding. A runner reads the limits of the ops that its first captured pass calls; it does not
     * see limits that are set afterwards. */
    int row_limits[BG_ROW_LIMITS];
} bg_op_attributes;

#define BG_OP_ATTRIBUTES_INIT                                                                                          \
    {                                                                                                                  \
        sizeof(bg_op_attributes), NULL, NULL, NULL, false, BG_SUPPORT_ALWAYS,                                          \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
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
    /* Internal to the registry. */
    struct bg_op *next_;
    const struct bg_op *twin_;
    bg_op_attributes attributes_;
} bg_op;

/* Registers or unregisters an op. The macros call these when the program, or a shared object, is loaded and unloaded.
 * A graph whose ops are unloaded may only be destroyed. */
BG_API void bg_op_register(bg_op *op);
BG_API void bg_op_unregister(bg_op *op);

/* Returns the op of that name, or NULL where there is none. */
BG_API const bg_op *bg_op_find(const char *name);

/* Sets all attributes of the op of that name. An attribute that still has its value of BG_OP_ATTRIBUTES_INIT is reset
 * to that default; attributes NULL resets all.
 * Errors: INVALID_ARGUMENT (name is NULL, bad struct_size, invalid bg_support, row_limits that do not ascend),
 * UNSUPPORTED (row_limits of an op that was compiled with an older header), NOT_FOUND (no op of that name). */
BG_API bg_status bg_op_set_attributes(const char *name, const bg_op_attributes *attributes);

/* Sets which ops are eager in captures that begin after this call, in place of their declarations. pattern is a list
 * of patterns separated by commas, such as "attention,moe_*,rope#3,!sample_*":
 *   - NAME matches the calls of that op at any depth.
 *   - NAME#K matches the K-th call of that op at the top level, from 0.
 *   - A path with '/' matches the call at that path; a part without '#' matches every call of that op.
 *   - '*' matches any characters except '/'.
 *   - '!' before a pattern makes the calls that it matches captured.
 * The last pattern that matches a call decides. Empty patterns are ignored. The list replaces that of an earlier call;
 * NULL, or a list without patterns, clears it.
 * The environment variable BG_EAGER_OPS has the same form, or is "@FILE": the list is read from that file, where a
 * newline separates patterns as a comma does. BG_EAGER_OPS is applied after this list. BG_BREAKABLE=0 in the
 * environment captures every op. An op that is declared eager but captured still joins the capture's streams and forks
 * them again, as its break would.
 * Errors: INVALID_ARGUMENT (a malformed pattern, which bg_last_error() names), OUT_OF_MEMORY. */
BG_API bg_status bg_override_eager(const char *pattern);

/* Calls an op; BG_CALL and BG_CALL_ARGS expand to this. args points to the op's NAME_args.
 * On return each BG_OUT and BG_INOUT tensor in args has the data pointer that the caller passed, even if the body
 * changed it. An output passed without memory points to a bridge buffer, of the shape that the caller or, with rank 0,
 * the body sets; after a failure its data is NULL. Each BG_RESULT has what the body left there, if it ran and
 * succeeded; the body of a break without launch_segments does not run at capture. The other members of args are
 * unchanged. The owner of a bridge buffer:
 *   - in a capture: the graph;
 *   - in an eager pass (bg_forward_run, a runner): the pass, until it ends;
 *   - elsewhere: the library, until the same line calls the op again in the same thread, or the thread ends.
 * In a capture or an eager pass an error is sticky: later calls do not run and return it, and the end of the capture
 * or pass returns it. Errors inside an eager body are for that body to handle.
 * Errors: INVALID_ARGUMENT (a NULL, an invalid tensor, two ops of one name), the body's own status, SHAPE and DTYPE
 * (the body changed those of an output), OP (the body left an output without memory), WRONG_THREAD, FOREIGN_CAPTURE
 * (an eager op on a stream of a foreign capture; with BG_FOREIGN_INLINE=1 in the environment it runs, and its work goes
 * into that capture), CAPTURE_INVALID, UNTRACKED_STREAM, OUT_OF_MEMORY, CUDA. */
BG_API bg_status bg_op_call(const bg_op *op, cudaStream_t stream, void *args, const bg_site *site);

/* Allocates device memory for a body, captured or not. args is the body's own argument pointer. Each call in a body
 * returns a separate block, aligned to 256 bytes; replays return the same block while it is large enough. bytes 0
 * returns NULL in *ptr. The library owns the block: in a capture it lives as long as the graph, in a plain call until
 * the work queued on the body's stream is done.
 * Errors: INVALID_ARGUMENT (not inside the body of args), OUT_OF_MEMORY. */
BG_API bg_status bg_scratch(void *args, size_t bytes, void **ptr);

BG_END_C_

/* ---- the macros ---------------------------------------------------------------------------------------------- */

/* Fields, at most 32 an op. BG_OUTS is an array of n output tensors. A BG_RESULT is a value that the body computes on
 * the host, and sets in every run, such as how many tokens were accepted: it comes back in the caller's args
 * (BG_CALL_ARGS) and, after a replay, in those of bg_graph_args. The type of a BG_VALUE or BG_RESULT must be trivially
 * copyable; a type that contains a comma needs a typedef. */
#define BG_IN(name)           (IN, bg_tensor, name)
#define BG_OUT(name)          (OUT, bg_tensor, name)
#define BG_INOUT(name)        (INOUT, bg_tensor, name)
#define BG_OUTS(name, n)      (OUTS, bg_tensor[n], name)
#define BG_VALUE(type, name)  (VALUE, type, name)
#define BG_RESULT(type, name) (RESULT, type, name)
#define BG_FIELDS(type, name) (STRUCT, type, name)

/* Declares a struct of fields once, for all ops that have BG_FIELDS of it, and for other structs:
 *     BG_STRUCT(kv, BG_OUT(k), BG_OUT(v))
 *     BG_EAGER_OP(attention, BG_IN(q), BG_FIELDS(kv, cache)) { ... args->cache.k ... }
 *     BG_CALL(attention, stream, .q = q, .cache.k = k, .cache.v = v);
 * The fields mean what those of an op mean; messages name them "cache.k". */
#define BG_STRUCT(...)    BG_ARGS_(__VA_ARGS__) BG_STRUCT_(BG_FIRST_(__VA_ARGS__))
#define BG_STRUCT_(name)  BG_STRUCT__(name)
#define BG_STRUCT__(name) typedef name##_args name;

/* Declare and define an op in one source file; the body follows. */
#define BG_OP(...)       BG_ARGS_(__VA_ARGS__) BG_BODY_(static, BG_FIRST_(__VA_ARGS__), false)
#define BG_EAGER_OP(...) BG_ARGS_(__VA_ARGS__) BG_BODY_(static, BG_FIRST_(__VA_ARGS__), true)

/* The same across files: BG_DECLARE_OP, with the fields, in a header; BG_DEFINE_OP or BG_DEFINE_EAGER_OP, without the
 * fields, in one source file; the body follows. */
#define BG_DECLARE_OP(...)       BG_ARGS_(__VA_ARGS__) BG_DECLARE_(BG_FIRST_(__VA_ARGS__))
#define BG_DEFINE_OP(name)       BG_BODY_(, name, false)
#define BG_DEFINE_EAGER_OP(name) BG_BODY_(, name, true)

/* BG_CALL(name, stream, .field = value, ...) calls the op and is an expression of type bg_status. Fields may be in any
 * order; fields that are not named are zero. In C++ each field is assigned, with the usual conversions; put parentheses
 * around a value that contains commas: .x = (bg_tensor{data, BG_F32, 1, {n}}).
 * BG_CALL_ARGS(name, stream, &args) does the same with the caller's NAME_args, which receives the outputs. */
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
#define BG_EXTERN_ extern "C"
#ifdef __cpp_exceptions
/* Catches what a body throws: it must not pass through the library, which is C. */
#define BG_RUN_(call)                                                                                                  \
    try {                                                                                                              \
        return call;                                                                                                   \
    } catch (const std::exception &bg_exception_) {                                                                    \
        return bg_report_failure(BG_ERROR_OP, "the body", bg_exception_.what(), "catch the exception there to go on"); \
    } catch (...) {                                                                                                    \
        return bg_report_failure(BG_ERROR_OP, "the body", "it threw an object that is not a std::exception",           \
                                 "catch the exception there to go on");                                                \
    }
#else
#define BG_RUN_(call) return call
#endif
#define BG_NULL_(type)           static_cast<type *>(nullptr)
#define BG_SIZE_OF_(name, field) sizeof(name::field)
#define BG_TABLE_(fields)        reinterpret_cast<const char *>(fields)
#define BG_CHECK_COPYABLE_(type, name)                                                                                 \
    static_assert(__is_trivially_copyable(__typeof__(type)),                                                           \
                  "BG_VALUE or BG_RESULT of " #name ": the type must be trivially copyable");
#else
#define BG_SITE (&(const bg_site){__FILE__, __LINE__})
#define BG_CALL_(name, stream, ...)                                                                                    \
    bg_op_call(&name##_bg_op_, stream, &(name##_args){__VA_ARGS__}, &(const bg_site){__FILE__, __LINE__})
#define BG_EXTERN_               extern
#define BG_RUN_(call)            return call
#define BG_NULL_(type)           ((type *)0)
#define BG_SIZE_OF_(name, field) sizeof(((name *)0)->field)
#define BG_CHECK_COPYABLE_(type, name)
#define BG_TABLE_(fields) ((const char *)(const void *)(fields))
#endif

#define BG_UNUSED_         __attribute__((unused))
#define BG_FIRST_(...)     BG_FIRST__(__VA_ARGS__, ~)
#define BG_FIRST__(a, ...) a
#define BG_UNPAREN_(...)   __VA_ARGS__

/* Defines struct NAME_args and the table of its fields. The last member makes an op without fields legal C. */
#define BG_ARGS_(...)        BG_ARGS__(BG_FIRST_(__VA_ARGS__), __VA_ARGS__)
#define BG_ARGS__(name, ...) BG_ARGS___(name, __VA_ARGS__)
#define BG_ARGS___(name, ...)                                                                                          \
    typedef struct name##_args {                                                                                       \
        BG_EACH_(BG_MEMBER_, __VA_ARGS__)                                                                              \
        int bg_reserved_;                                                                                              \
    } name##_args;                                                                                                     \
    static const bg_field name##_bg_fields_[] BG_UNUSED_ = {                                                           \
        BG_EACH_(BG_FIELD_, __VA_ARGS__){"", BG_ROLE_VALUE, 0, 0, NULL}};                                              \
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
     BG_CAST_(uint32_t, BG_SIZE_OF_(name##_args, member)), BG_TYPE_##role(type)},
#define BG_TYPE_IN(type)     #type
#define BG_TYPE_OUT(type)    #type
#define BG_TYPE_INOUT(type)  #type
#define BG_TYPE_OUTS(type)   #type
#define BG_TYPE_VALUE(type)  #type
#define BG_TYPE_RESULT(type) #type
#define BG_TYPE_STRUCT(type) BG_TABLE_(type##_bg_fields_)

/* Defines the op's entry in the registry, and opens its body. */
#define BG_DECLARE_(name)              BG_DECLARE__(name)
#define BG_DECLARE__(name)             BG_EXTERN_ bg_op name##_bg_op_;
#define BG_BODY_(linkage, name, eager) BG_BODY__(linkage, name, eager)
#define BG_BODY__(linkage, name, eager)                                                                                \
    static bg_status name##_bg_body_(name##_args *args, cudaStream_t stream);                                          \
    static bg_status name##_bg_entry_(void *args, cudaStream_t stream)                                                 \
    {                                                                                                                  \
        BG_RUN_(name##_bg_body_(BG_CAST_(name##_args *, args), stream));                                               \
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

/* BG_EACH_(M, first, a, b, ...) expands to M(first, a) M(first, b) ... */
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
