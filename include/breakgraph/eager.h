/* Ops without a macro: a part of a pass becomes an op where it stands, by a name that is given at run time.
 *
 *     static bg_status sample(void *user, cudaStream_t stream) { ... waits, allocates, decides on the host ... }
 *     ...
 *     bg_eager(stream, "sample", sample, model);
 *
 * Otherwise it is an op like those of breakgraph/op.h: its calls are sample#0, sample#1, ...; patterns of
 * BG_EAGER_OPS, debug modes, tools and reports treat it as a BG_EAGER_OP. But the tools do not see which memory such a
 * function reads and writes: they do not compare it, and those that run a pass again (BG_SHADOW) do not restore it
 * unless options.state names it. If the tools should compare or restore that memory, declare an op, or use bg_region
 * with operands. breakgraph/breakgraph.hpp is built on this header. Names: 1 to 128 letters, digits and '_'. The first
 * call with a name registers an op of that name until the process ends, so give all passes the same few names. All
 * calls with one name must agree in whether they are eager, and in number and roles of their operands; a call that
 * differs from the first one, or that has the name of an op with a macro, is an error. Threads: calls may come from any
 * thread. */
#ifndef BREAKGRAPH_EAGER_H
#define BREAKGRAPH_EAGER_H

#include <breakgraph/op.h>

BG_BEGIN_C_

/* Calls function(user, stream) as an eager op of that name. In a capture it is a break: `function` runs between two
 * segments, in every replay, and at capture if segments are launched there. Elsewhere it is called at once.
 * name is copied. `function` and `user` must live as long as the graph. In C++ an exception that leaves `function`
 * becomes BG_ERROR_OP, as for a BG_EAGER_OP, if it was given to bg_eager; none may leave one given to bg_eager_at.
 * BG_CHECK=graph and bg_check (BG_CHECK_ADDRESSES) report a `user` that is a local variable of a function that has
 * returned ("dangling").
 * Errors: those of bg_op_call, INVALID_ARGUMENT (function is NULL, an invalid name, a name that another kind of op
 * has). In a capture or an eager pass each of them is sticky. */
BG_API bg_status bg_eager_at(cudaStream_t stream, const char *name,
                             bg_status (*function)(void *user, cudaStream_t stream), void *user, const bg_site *site);
#ifndef __cpp_exceptions
#define bg_eager(stream, name, function, user) bg_eager_at(stream, name, function, user, BG_SITE)
#endif

/* The largest number of operands of a bg_region. */
#define BG_OPERANDS_MAX 32

/* A tensor that a body reads or writes, as the fields of an op are. */
typedef struct bg_operand {
    bg_role role; /* BG_ROLE_IN, BG_ROLE_OUT or BG_ROLE_INOUT */
    bg_tensor tensor;
} bg_operand;

/* A call of an op without a macro. It is for bindings to other languages, and for closures: what a body needs can be
 * copied into the graph. No exception may leave `body`, `keep` or `destroy`. */
typedef struct bg_region {
    size_t struct_size; /* set by BG_REGION_INIT */
    const char *name;   /* copied */
    bool eager;         /* true: as a BG_EAGER_OP; false: as a BG_OP, which is captured */
    /* The body. tensors: those of the operands, in their order. As in the body of an op, it may change the data pointer
     * of an output, and an output without memory has a bridge buffer. */
    bg_status (*body)(void *user, bg_tensor *tensors, cudaStream_t stream);
    void *user;
    size_t user_bytes; /* with `keep`: the size of the object at *kept, in which checks look for pointers into a stack;
                        * 0: they do not look */
    /* In a capture: sets *kept to a copy of `user`, which takes the place of `user` in this call and in all replays.
     * The graph destroys the copy once, after it has waited for its own work on the device. If the capture fails, its
     * graph does so, too. Outside a capture, in an eager pass and with BG_DEBUG=forward `keep` is not called: `user`
     * then needs to live during the call only, so work that the body leaves queued must not read it. An error fails the
     * call. NULL: `user` must live as long as the graph. */
    bg_status (*keep)(void *user, void **kept);
    void (*destroy)(void *kept); /* needed with `keep` */
    bg_operand *operands;        /* on return outputs have the memory that bg_op_call sets */
    int operand_count;           /* 0 to BG_OPERANDS_MAX */
} bg_region;

#define BG_REGION_INIT                                                                                                 \
    {                                                                                                                  \
        sizeof(bg_region), NULL, true, NULL, NULL, 0, NULL, NULL, NULL, 0                                              \
    }

/* Calls the op that region describes; site is where the call is (BG_SITE), and its file must live as long as the graph.
 * In reports the operands are in0, out1, inout2, by role and place. bg_graph_args and bg_scratch do not work for these
 * ops. bg_op_set_attributes works after the first call has made the op, for graph_support and allow_fewer_rows;
 * functions in the attributes would get arguments of an unknown form.
 * Errors: as for bg_eager_at; INVALID_ARGUMENT (bad struct_size, `keep` without `destroy`, invalid operands). */
BG_API bg_status bg_region_call(const bg_region *region, cudaStream_t stream, const bg_site *site);

#ifdef __cpp_exceptions
/* bg_eager: bg_eager_at, with a body that catches what function throws, since the library is C. */
typedef struct bg_guarded_ {
    bg_status (*function)(void *user, cudaStream_t stream);
    void *user;
} bg_guarded_;

inline bg_status bg_guarded_run_(void *user, bg_tensor *, cudaStream_t stream)
{
    const bg_guarded_ *guarded = static_cast<const bg_guarded_ *>(user);
    BG_RUN_(guarded->function(guarded->user, stream));
}

inline bg_status bg_guarded_keep_(void *user, void **kept)
{
    bg_guarded_ *copy = static_cast<bg_guarded_ *>(std::malloc(sizeof(bg_guarded_)));
    if (copy == nullptr)
        return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, "bg_eager", "out of host memory",
                                 "none for a function and its user");
    *copy = *static_cast<const bg_guarded_ *>(user);
    *kept = copy;
    return BG_OK;
}

inline bg_status bg_eager_guarded_(cudaStream_t stream, const char *name,
                                   bg_status (*function)(void *user, cudaStream_t stream), void *user,
                                   const bg_site *site)
{
    bg_guarded_ guarded = {function, user};
    bg_region region = BG_REGION_INIT;
    region.name = name;
    region.body = function != nullptr ? bg_guarded_run_ : nullptr;
    region.user = &guarded;
    region.user_bytes = sizeof guarded;
    region.keep = bg_guarded_keep_;
    region.destroy = std::free;
    return bg_region_call(&region, stream, site);
}

#define bg_eager(stream, name, function, user) bg_eager_guarded_(stream, name, function, user, BG_SITE)
#endif

BG_END_C_

#endif
