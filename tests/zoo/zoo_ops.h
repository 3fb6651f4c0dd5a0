/* For the programs of the zoo that use breakgraph. */
#ifndef ZOO_OPS_H
#define ZOO_OPS_H

#include "tests/zoo/zoo.h"

#include <breakgraph/breakgraph.h>
#include <string.h>

/* At compile levels 2 and 3 each op call is replaced by itself, so that the tools look at graphs that were rewritten.
 */
#undef BG_OP
#define BG_OP(...)                                                                                                     \
    BG_ARGS_(__VA_ARGS__) ZOO_RULE_(BG_FIRST_(__VA_ARGS__)) BG_BODY_(static, BG_FIRST_(__VA_ARGS__), false)
#define ZOO_RULE_(name) ZOO_RULE__(name)
#define ZOO_RULE__(name)                                                                                               \
    static bg_op name##_bg_op_;                                                                                        \
    BG_RULE(name, name)                                                                                                \
    {                                                                                                                  \
        *args = *a0;                                                                                                   \
        return true;                                                                                                   \
    }

/* Ends the program with ZOO_ERROR, and what the library says, if a call of the library fails. */
#define BG(call)                                                                                                       \
    do {                                                                                                               \
        bg_status status_ = (call);                                                                                    \
        if (status_ != BG_OK) {                                                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, bg_status_name(status_), bg_last_error());          \
            exit(ZOO_ERROR);                                                                                           \
        }                                                                                                              \
    } while (0)

/* For the bodies of ops: return checked(zoo_add(...)). */
static inline __attribute__((unused)) bg_status checked(cudaError_t error)
{
    return error == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

static inline __attribute__((unused)) bg_tensor floats(void *memory, int n)
{
    return bg_tensor_1d(memory, BG_F32, n);
}

static inline __attribute__((unused)) bg_tensor ints(void *memory, int n)
{
    return bg_tensor_1d(memory, BG_I32, n);
}

static inline __attribute__((unused)) void zoo_ledger_alloc_(void *memory, size_t bytes, const char *name)
{
    BG(bg_ledger_alloc(memory, bytes, name));
}

static inline __attribute__((unused)) void zoo_ledger_free_(void *memory)
{
    BG(bg_ledger_free(memory));
}

/* zoo_alloc and zoo_free report to the ledger. */
static inline __attribute__((unused)) void zoo_ledger(void)
{
    zoo_allocator_reports(zoo_ledger_alloc_, zoo_ledger_free_);
}

static inline __attribute__((unused)) void zoo_capture_ops(bg_graph **graph, bg_forward forward, void *user)
{
    BG(bg_capture_forward(graph, forward, user, zoo.stream, NULL));
}

static inline __attribute__((unused)) void zoo_replay_ops(bg_graph *graph)
{
    BG(bg_replay(graph, zoo.stream));
}

#endif
