/* The ops that rules put in place of runs of the decoder's ops (breakgraph/compile.h). Each op writes all that the
 * calls of its run write. */
#ifndef LLAMA_RULES_H
#define LLAMA_RULES_H
#include "ops.h"

/* For any number of rows; results are equal bit for bit. */
BG_DECLARE_OP(add_rms_norm, BG_INOUT(x), BG_IN(y), BG_IN(weight), BG_OUT(n), BG_VALUE(float, epsilon))
BG_DECLARE_OP(embedding_rms_norm, BG_IN(table), BG_IN(token), BG_IN(weight), BG_OUT(y), BG_OUT(n),
              BG_VALUE(float, epsilon))
BG_DECLARE_OP(rope_append, BG_INOUT(q), BG_INOUT(k), BG_IN(v), BG_IN(position), BG_INOUT(keys), BG_INOUT(values),
              BG_VALUE(float, base))
BG_DECLARE_OP(rope_append_rows, BG_INOUT(q), BG_INOUT(k), BG_IN(v), BG_IN(position), BG_IN(slot), BG_INOUT(keys),
              BG_INOUT(values), BG_VALUE(float, base))

/* For 1 to 8 rows, within a tolerance: they sum in another order than cuBLAS. */
BG_DECLARE_OP(norm_qkv, BG_IN(x), BG_IN(norm), BG_IN(query), BG_IN(key), BG_IN(value), BG_OUT(n), BG_OUT(q), BG_OUT(k),
              BG_OUT(v), BG_VALUE(float, epsilon))
BG_DECLARE_OP(norm_gate_up, BG_IN(x), BG_IN(norm), BG_IN(gate_weight), BG_IN(up_weight), BG_OUT(n), BG_OUT(gate),
              BG_OUT(up), BG_OUT(y), BG_VALUE(float, epsilon))
BG_DECLARE_OP(matmul_add, BG_IN(weight), BG_IN(x), BG_OUT(y), BG_INOUT(sum))
BG_DECLARE_OP(matmul_few, BG_IN(weight), BG_IN(x), BG_OUT(y))
BG_DECLARE_OP(attention_few, BG_IN(q), BG_IN(keys), BG_IN(values), BG_IN(position), BG_OUT(y), BG_VALUE(int, group),
              BG_VALUE(int, first))
BG_DECLARE_OP(attention_rows_few, BG_IN(q), BG_IN(keys), BG_IN(values), BG_IN(position), BG_IN(slot), BG_OUT(y),
              BG_VALUE(int, group), BG_VALUE(int, first))

/* Sets the rules' attributes: the numbers of rows that they apply to, and their tolerance. */
bg_status llama_set_rules(void);
#endif
