#include "hostcuda/src/nccl/nccl_reduce.h"

#include "hostcuda/src/nccl/nccl_comm.h"

#ifdef HC_HAVE_NCCL
#include "hostcuda/src/kernel/float8.h"
#include "hostcuda/src/kernel/half.h"

#include <math.h>
#include <stdint.h>

static const struct {
    const char *name;
    size_t size;
} types[] = {
    [ncclInt8] = {"ncclInt8", 1},
    [ncclUint8] = {"ncclUint8", 1},
    [ncclInt32] = {"ncclInt32", 4},
    [ncclUint32] = {"ncclUint32", 4},
    [ncclInt64] = {"ncclInt64", 8},
    [ncclUint64] = {"ncclUint64", 8},
    [ncclFloat16] = {"ncclFloat16", 2},
    [ncclFloat32] = {"ncclFloat32", 4},
    [ncclFloat64] = {"ncclFloat64", 8},
    [ncclBfloat16] = {"ncclBfloat16", 2},
#if NCCL_VERSION_CODE >= 22400
    [ncclFloat8e4m3] = {"ncclFloat8e4m3", 1},
    [ncclFloat8e5m2] = {"ncclFloat8e5m2", 1},
#endif
};
_Static_assert(sizeof types / sizeof types[0] == ncclNumTypes, "every data type has a size");

size_t hc_nccl_type_bytes(int type)
{
    return type >= 0 && type < ncclNumTypes ? types[type].size : 0;
}

const char *hc_nccl_type_name(int type)
{
    return type >= 0 && type < ncclNumTypes ? types[type].name : "no type";
}

const char *hc_nccl_op_name(int op)
{
    static const char *const names[] = {
        [ncclSum] = "ncclSum", [ncclProd] = "ncclProd", [ncclMax] = "ncclMax",
        [ncclMin] = "ncclMin", [ncclAvg] = "ncclAvg",
    };
    return op >= 0 && op < ncclNumOps ? names[op] : "no operation";
}

/* Integers wrap around, and their mean is truncated towards zero. The minimum or maximum of NaN and a number is the
 * number. */
#define SAME(x)            (x)
#define SMALLER(a, b)      ((b) < (a) ? (b) : (a))
#define GREATER(a, b)      ((b) > (a) ? (b) : (a))
#define WRAP_SUM(type)     acc = (type)((uint64_t)acc + (uint64_t)x)
#define WRAP_PRODUCT(type) acc = (type)((uint64_t)acc * (uint64_t)x)

/* One function for each type: elements have the type `store`, sums the type `keep`. */
#define DEFINE_REDUCE(name, store, keep, load, save, sum, product, minimum, maximum)                                   \
    static void reduce_##name(store *out, const void *const *inputs, int input_count, size_t count, int op)            \
    {                                                                                                                  \
        for (size_t i = 0; i < count; i++) {                                                                           \
            keep acc = load(((const store *)inputs[0])[i]);                                                            \
            for (int k = 1; k < input_count; k++) {                                                                    \
                keep x = load(((const store *)inputs[k])[i]);                                                          \
                switch (op) {                                                                                          \
                case ncclProd: product; break;                                                                         \
                case ncclMin: acc = minimum(acc, x); break;                                                            \
                case ncclMax: acc = maximum(acc, x); break;                                                            \
                default: sum; break;                                                                                   \
                }                                                                                                      \
            }                                                                                                          \
            if (op == ncclAvg)                                                                                         \
                acc = (keep)(acc / (keep)input_count);                                                                 \
            out[i] = (store)save(acc);                                                                                 \
        }                                                                                                              \
    }
#define DEFINE_INTEGER(name, type)                                                                                     \
    DEFINE_REDUCE(name, type, type, SAME, SAME, WRAP_SUM(type), WRAP_PRODUCT(type), SMALLER, GREATER)
#define DEFINE_FLOAT(name, store, keep, load, save, minimum, maximum)                                                  \
    DEFINE_REDUCE(name, store, keep, load, save, acc += x, acc *= x, minimum, maximum)

DEFINE_INTEGER(int8, int8_t)
DEFINE_INTEGER(uint8, uint8_t)
DEFINE_INTEGER(int32, int32_t)
DEFINE_INTEGER(uint32, uint32_t)
DEFINE_INTEGER(int64, int64_t)
DEFINE_INTEGER(uint64, uint64_t)
DEFINE_FLOAT(float16, uint16_t, float, hc_fp16_to_float, hc_float_to_fp16, fminf, fmaxf)
DEFINE_FLOAT(bfloat16, uint16_t, float, hc_bf16_to_float, hc_float_to_bf16, fminf, fmaxf)
#if NCCL_VERSION_CODE >= 22400
DEFINE_FLOAT(float8e4m3, uint8_t, float, hc_e4m3_to_float, hc_float_to_e4m3, fminf, fmaxf)
DEFINE_FLOAT(float8e5m2, uint8_t, float, hc_e5m2_to_float, hc_float_to_e5m2, fminf, fmaxf)
#endif
DEFINE_FLOAT(float32, float, float, SAME, SAME, fminf, fmaxf)
DEFINE_FLOAT(float64, double, double, SAME, SAME, fmin, fmax)

void hc_nccl_reduce(void *out, const void *const *inputs, int input_count, size_t count, int type, int op)
{
    switch (type) {
    case ncclInt8: reduce_int8(out, inputs, input_count, count, op); break;
    case ncclUint8: reduce_uint8(out, inputs, input_count, count, op); break;
    case ncclInt32: reduce_int32(out, inputs, input_count, count, op); break;
    case ncclUint32: reduce_uint32(out, inputs, input_count, count, op); break;
    case ncclInt64: reduce_int64(out, inputs, input_count, count, op); break;
    case ncclUint64: reduce_uint64(out, inputs, input_count, count, op); break;
    case ncclFloat16: reduce_float16(out, inputs, input_count, count, op); break;
    case ncclFloat32: reduce_float32(out, inputs, input_count, count, op); break;
    case ncclFloat64: reduce_float64(out, inputs, input_count, count, op); break;
    case ncclBfloat16: reduce_bfloat16(out, inputs, input_count, count, op); break;
#if NCCL_VERSION_CODE >= 22400
    case ncclFloat8e4m3: reduce_float8e4m3(out, inputs, input_count, count, op); break;
    case ncclFloat8e5m2: reduce_float8e5m2(out, inputs, input_count, count, op); break;
#endif
    default: break; /* the call has refused other types */
    }
}
#endif
