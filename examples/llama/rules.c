#include "rules.h"
#include <breakgraph/compile.h>
#include "kernels/model/kernels.h"

static int dim(const bg_tensor *tensor, int index)
{
    return (int)tensor->dim[index];
}

static bg_status check_launch(cudaError_t result, const char *kernel)
{
    llama_count_launch();
    return llama_check_cuda(result, kernel);
}

/* ---- for any number of rows --------------------------------------------------------------------- */

BG_DEFINE_OP(add_rms_norm)
{
    return check_launch(bgk_add_rms_norm(args->n.data, args->x.data, args->y.data, args->weight.data, dim(&args->x, 0),
                                         dim(&args->x, 1), args->epsilon, stream),
                        "bgk_add_rms_norm");
}

BG_RULE(add_rms_norm, add, rms_norm)
{
    if (a1->x.data != a0->x.data)
        return false;
    *args = (add_rms_norm_args){.x = a0->x, .y = a0->y, .weight = a1->weight, .n = a1->y, .epsilon = a1->epsilon};
    return true;
}

BG_DEFINE_OP(embedding_rms_norm)
{
    return check_launch(bgk_embedding_rms_norm(args->n.data, args->y.data, args->table.data, args->token.data,
                                               args->weight.data, dim(&args->y, 0), dim(&args->y, 1),
                                               dim(&args->table, 0), args->epsilon, stream),
                        "bgk_embedding_rms_norm");
}

BG_RULE(embedding_rms_norm, embedding, rms_norm)
{
    if (a1->x.data != a0->y.data)
        return false;
    *args = (embedding_rms_norm_args){
        .table = a0->table, .token = a0->token, .weight = a1->weight, .y = a0->y, .n = a1->y, .epsilon = a1->epsilon};
    return true;
}

BG_DEFINE_OP(rope_append)
{
    const bgk_rope_append all = {.q = args->q.data,
                                 .k = args->k.data,
                                 .v = args->v.data,
                                 .position = args->position.data,
                                 .keys = args->keys.data,
                                 .values = args->values.data,
                                 .heads = dim(&args->q, 1),
                                 .kv_heads = dim(&args->k, 1),
                                 .head_dim = dim(&args->q, 2),
                                 .capacity = dim(&args->keys, 0),
                                 .base = args->base};
    return check_launch(bgk_launch_rope_append(&all, dim(&args->q, 0), stream), "bgk_launch_rope_append");
}

/* All calls use the same positions, and kv_append appends the k that the second rope has rotated. */
BG_RULE(rope_append, rope, rope, kv_append)
{
    if (a1->x.data != a2->k.data || a0->position.data != a1->position.data || a1->position.data != a2->position.data ||
        a0->base != a1->base || dim(&a0->x, 2) != dim(&a1->x, 2) || dim(&a0->x, 0) != dim(&a1->x, 0))
        return false;
    *args = (rope_append_args){.q = a0->x,
                               .k = a1->x,
                               .v = a2->v,
                               .position = a0->position,
                               .keys = a2->keys,
                               .values = a2->values,
                               .base = a0->base};
    return true;
}

BG_DEFINE_OP(rope_append_rows)
{
    const bgk_rope_append all = {.q = args->q.data,
                                 .k = args->k.data,
                                 .v = args->v.data,
                                 .position = args->position.data,
                                 .slot = args->slot.data,
                                 .keys = args->keys.data,
                                 .values = args->values.data,
                                 .heads = dim(&args->q, 1),
                                 .kv_heads = dim(&args->k, 1),
                                 .head_dim = dim(&args->q, 2),
                                 .capacity = dim(&args->keys, 1),
                                 .slots = dim(&args->keys, 0),
                                 .base = args->base};
    return check_launch(bgk_launch_rope_append(&all, dim(&args->q, 0), stream), "bgk_launch_rope_append");
}

BG_RULE(rope_append_rows, rope_rows, rope_rows, kv_append_rows)
{
    if (a1->x.data != a2->k.data || a0->position.data != a1->position.data || a1->position.data != a2->position.data ||
        a0->base != a1->base || dim(&a0->x, 2) != dim(&a1->x, 2) || dim(&a0->x, 0) != dim(&a1->x, 0))
        return false;
    *args = (rope_append_rows_args){.q = a0->x,
                                    .k = a1->x,
                                    .v = a2->v,
                                    .position = a0->position,
                                    .slot = a2->slot,
                                    .keys = a2->keys,
                                    .values = a2->values,
                                    .base = a0->base};
    return true;
}

/* ---- for few rows ------------------------------------------------------------------------------- */

static bgk_product make_product(const bg_tensor *weight, const bg_tensor *y)
{
    return (bgk_product){y->data, weight->data, dim(weight, 0), weight->dtype == BG_BF16};
}

/* Whether the kernels for few rows support a product of weight (outputs x inputs) and x (rows x inputs). */
static bool fits_few_rows_kernel(const bg_tensor *weight, const bg_tensor *x)
{
    return (weight->dtype == BG_F32 || weight->dtype == BG_BF16) && x->dtype == BG_F32 && dim(x, 0) <= BGK_FEW_ROWS &&
           dim(weight, 1) % 4 == 0;
}

static bool fits_norm_kernel(const bg_tensor *x)
{
    return dim(x, 0) * dim(x, 1) <= 12288;
}

BG_DEFINE_OP(norm_qkv)
{
    const bgk_product products[] = {make_product(&args->query, &args->q), make_product(&args->key, &args->k),
                                    make_product(&args->value, &args->v)};
    return check_launch(bgk_norm_products(args->n.data, args->x.data, args->norm.data, args->epsilon, products, 3,
                                          dim(&args->x, 0), dim(&args->x, 1), stream),
                        "bgk_norm_products");
}

BG_RULE(norm_qkv, rms_norm, matmul, matmul, matmul)
{
    if (a1->x.data != a0->y.data || a2->x.data != a0->y.data || a3->x.data != a0->y.data ||
        !fits_few_rows_kernel(&a1->weight, &a0->x) || !fits_few_rows_kernel(&a2->weight, &a0->x) ||
        !fits_few_rows_kernel(&a3->weight, &a0->x) || !fits_norm_kernel(&a0->x))
        return false;
    *args = (norm_qkv_args){.x = a0->x,
                            .norm = a0->weight,
                            .query = a1->weight,
                            .key = a2->weight,
                            .value = a3->weight,
                            .n = a0->y,
                            .q = a1->y,
                            .k = a2->y,
                            .v = a3->y,
                            .epsilon = a0->epsilon};
    return true;
}

BG_DEFINE_OP(norm_gate_up)
{
    const bgk_product gate = make_product(&args->gate_weight, &args->gate),
                      up = make_product(&args->up_weight, &args->up);
    return check_launch(bgk_norm_gate_up(args->n.data, args->x.data, args->norm.data, args->epsilon, &gate, &up,
                                         args->y.data, dim(&args->x, 0), dim(&args->x, 1), stream),
                        "bgk_norm_gate_up");
}

BG_RULE(norm_gate_up, rms_norm, matmul, matmul, silu_gate)
{
    if (a1->x.data != a0->y.data || a2->x.data != a0->y.data || a3->gate.data != a1->y.data ||
        a3->up.data != a2->y.data || !fits_few_rows_kernel(&a1->weight, &a0->x) ||
        !fits_few_rows_kernel(&a2->weight, &a0->x) || !fits_norm_kernel(&a0->x))
        return false;
    *args = (norm_gate_up_args){.x = a0->x,
                                .norm = a0->weight,
                                .gate_weight = a1->weight,
                                .up_weight = a2->weight,
                                .n = a0->y,
                                .gate = a1->y,
                                .up = a2->y,
                                .y = a3->y,
                                .epsilon = a0->epsilon};
    return true;
}

BG_DEFINE_OP(matmul_add)
{
    const bgk_product product = make_product(&args->weight, &args->y);
    return check_launch(
        bgk_product_add(&product, args->x.data, args->sum.data, dim(&args->x, 0), dim(&args->weight, 1), stream),
        "bgk_product_add");
}

BG_RULE(matmul_add, matmul, add)
{
    if (a1->y.data != a0->y.data || !fits_few_rows_kernel(&a0->weight, &a0->x))
        return false;
    *args = (matmul_add_args){.weight = a0->weight, .x = a0->x, .y = a0->y, .sum = a1->x};
    return true;
}

BG_DEFINE_OP(matmul_few)
{
    const bgk_product product = make_product(&args->weight, &args->y);
    return check_launch(bgk_product_add(&product, args->x.data, NULL, dim(&args->x, 0), dim(&args->weight, 1), stream),
                        "bgk_product_add");
}

BG_RULE(matmul_few, matmul)
{
    if (!fits_few_rows_kernel(&a0->weight, &a0->x))
        return false;
    *args = (matmul_few_args){.weight = a0->weight, .x = a0->x, .y = a0->y};
    return true;
}

/* Attention is captured only in a full graph; elsewhere it breaks the segment, so its rules match no other call. */
BG_DEFINE_OP(attention_few)
{
    const bgk_heads heads = {dim(&args->q, 1), dim(&args->keys, 1), args->group, args->first};
    return check_launch(bgk_attention_few(args->y.data, args->q.data, args->keys.data, args->values.data,
                                          args->position.data, NULL, dim(&args->q, 0), heads, dim(&args->q, 2),
                                          dim(&args->keys, 0), 0, stream),
                        "bgk_attention_few");
}

BG_RULE(attention_few, attention)
{
    if (dim(&a0->q, 0) > BGK_FEW_ROWS || dim(&a0->keys, 0) > 8192)
        return false;
    *args = (attention_few_args){.q = a0->q,
                                 .keys = a0->keys,
                                 .values = a0->values,
                                 .position = a0->position,
                                 .y = a0->y,
                                 .group = a0->group,
                                 .first = a0->first};
    return true;
}

BG_DEFINE_OP(attention_rows_few)
{
    const bgk_heads heads = {dim(&args->q, 1), dim(&args->keys, 2), args->group, args->first};
    return check_launch(bgk_attention_few(args->y.data, args->q.data, args->keys.data, args->values.data,
                                          args->position.data, args->slot.data, dim(&args->q, 0), heads,
                                          dim(&args->q, 2), dim(&args->keys, 1), dim(&args->keys, 0), stream),
                        "bgk_attention_few");
}

BG_RULE(attention_rows_few, attention_rows)
{
    if (dim(&a0->q, 0) > BGK_FEW_ROWS || dim(&a0->keys, 1) > 8192)
        return false;
    *args = (attention_rows_few_args){.q = a0->q,
                                      .keys = a0->keys,
                                      .values = a0->values,
                                      .position = a0->position,
                                      .slot = a0->slot,
                                      .y = a0->y,
                                      .group = a0->group,
                                      .first = a0->first};
    return true;
}

static bool has_few_rows(int rows)
{
    return rows <= BGK_FEW_ROWS;
}

/* Sums of n products in another order differ by about sqrt(n) times the precision of fp32, 6e-8, relative to their
 * terms: 2e-6 for 1536 (Higham, "Accuracy and Stability of Numerical Algorithms", section 4.2). Where terms cancel, the
 * sum is small and only the absolute limit helps. */
bg_status llama_set_rules(void)
{
    static const char *const few[] = {"norm_qkv",   "norm_gate_up",  "matmul_add",
                                      "matmul_few", "attention_few", "attention_rows_few"};
    bg_rule_attributes attributes = BG_RULE_ATTRIBUTES_INIT;
    attributes.in_place = true; /* y and n may be one block of memory (batch.c) */
    TRY(bg_rule_set_attributes("add_rms_norm", &attributes));
    attributes.in_place = false;
    attributes.applies = has_few_rows;
    attributes.tolerance = "rel=1e-4,abs=1e-4";
    for (size_t i = 0; i < sizeof few / sizeof few[0]; i++)
        TRY(bg_rule_set_attributes(few[i], &attributes));
    return BG_OK;
}
