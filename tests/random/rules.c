/* Rules for the ops of random programs: with BG_COMPILE=2 calls of them that stand side by side become one op. */
#include <stdio.h>
#include <string.h>

#include "ops.h"

#include <breakgraph/compile.h>

/* What one call computes: y = mix(a, b). */
BG_STRUCT(one, BG_IN(a), BG_IN(b), BG_OUT(y), BG_VALUE(uint32_t, k))

static bg_status run_one(const one *of, cudaStream_t stream)
{
    return pass_mix(of->y.data, of->a.data, of->b.data, of->k, ELEMENTS, stream) == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

BG_OP(two, BG_FIELDS(one, first), BG_FIELDS(one, second))
{
    TRY(run_one(&args->first, stream));
    return run_one(&args->second, stream);
}

BG_OP(three, BG_FIELDS(one, first), BG_FIELDS(one, second), BG_FIELDS(one, third))
{
    TRY(run_one(&args->first, stream));
    TRY(run_one(&args->second, stream));
    return run_one(&args->third, stream);
}

/* ---- planted ---- */

rule_counts counted_rules;

static bg_status allocate(const one *of, cudaStream_t stream)
{
    void *memory;
    if (cudaMallocAsync(&memory, ELEMENTS * sizeof(uint32_t), stream) != cudaSuccess)
        return BG_ERROR_CUDA;
    TRY(run_one(of, stream));
    return cudaFreeAsync(memory, stream) == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

/* A referee must drop it, or leave it unproven, whatever memory holds when it looks. */
BG_OP(planted, BG_FIELDS(one, first), BG_FIELDS(one, second))
{
    bool captures = bg_current_phase() == BG_PHASE_CAPTURE;
    one first = args->first, second = args->second, input = args->first;

    input.y = input.a;
    switch (this_pass.planted) {
    case 1: return run_one(&first, stream); /* it leaves the second output out */
    case 2: return BG_OK;                   /* and the first one */
    case 3: second.k += captures; break;    /* a body that is right outside of captures alone */
    case 4: second.k++; break;
    case 5: TRY(allocate(&first, stream)); return run_one(&second, stream);
    default: /* right, but for an input that the calls only read */
        TRY(run_one(&first, stream));
        TRY(run_one(&second, stream));
        return run_one(&input, stream);
    }
    TRY(run_one(&first, stream));
    return run_one(&second, stream);
}

const char *count_rules(const bg_graph *graph, rule_counts *counts)
{
    static char name[200];
    bg_fusion fusion = BG_FUSION_INIT;
    bool used = false;

    for (int i = 0; bg_graph_get_fusion(graph, i, &fusion) == BG_OK; i++) {
        bool is_planted = strcmp(fusion.op, "planted") == 0;
        counts->used += !is_planted && fusion.state == BG_FUSION_APPLIED;
        counts->left_out += is_planted && (fusion.state == BG_FUSION_DIFFERS || fusion.state == BG_FUSION_UNPROVEN);
        if (is_planted && fusion.state == BG_FUSION_APPLIED)
            snprintf(name, sizeof name, "%s", fusion.name);
        used |= is_planted && fusion.state == BG_FUSION_APPLIED;
    }
    return used ? name : NULL;
}

/* ---- rules ---- */

/* Whether the call is no more than that: nothing is planted, and all rows are written. */
static bool is_plain(how h, const bg_tensor *y)
{
    return h.shorter == SHORTER_NEVER && h.failing == FAILING_NEVER && h.own != this_pass.nan_at &&
           h.own != this_pass.stack_copy_at && h.own != this_pass.leak_at && y->rank == 1 && y->dim[0] == ELEMENTS;
}

static bool take_mix(const mix_args *args, one *of)
{
    *of = (one){.a = args->a, .b = args->b, .y = args->y, .k = args->k};
    return is_plain(args->how, &args->y);
}

static bool take_bump(const bump_args *args, one *of)
{
    *of = (one){.a = args->x, .b = args->x, .y = args->x, .k = args->k};
    return is_plain(args->how, &args->x);
}

BG_RULE(two, mix, mix)
{
    return take_mix(a0, &args->first) && take_mix(a1, &args->second);
}

BG_RULE(two, mix, bump)
{
    return take_mix(a0, &args->first) && take_bump(a1, &args->second);
}

BG_RULE(two, bump, mix)
{
    return take_bump(a0, &args->first) && take_mix(a1, &args->second);
}

BG_RULE(two, bump, bump)
{
    return take_bump(a0, &args->first) && take_bump(a1, &args->second);
}

BG_RULE(planted, mix, mix)
{
    return this_pass.planted > 0 && take_mix(a0, &args->first) && take_mix(a1, &args->second);
}

BG_RULE(planted, mix, bump)
{
    return this_pass.planted > 0 && take_mix(a0, &args->first) && take_bump(a1, &args->second);
}

BG_RULE(planted, bump, bump)
{
    return this_pass.planted > 0 && take_bump(a0, &args->first) && take_bump(a1, &args->second);
}

BG_RULE(three, mix, bump, mix)
{
    return take_mix(a0, &args->first) && take_bump(a1, &args->second) && take_mix(a2, &args->third);
}

BG_RULE(three, bump, bump, bump)
{
    return take_bump(a0, &args->first) && take_bump(a1, &args->second) && take_bump(a2, &args->third);
}

/* Each op computes one call after the other, so that these may share memory in any way. */
__attribute__((constructor)) static void allow_sharing(void)
{
    bg_rule_attributes attributes = BG_RULE_ATTRIBUTES_INIT;
    attributes.in_place = true;
    if (bg_rule_set_attributes("two", &attributes) != BG_OK || bg_rule_set_attributes("three", &attributes) != BG_OK ||
        bg_rule_set_attributes("planted", &attributes) != BG_OK)
        bg_report_failure(BG_ERROR_NOT_FOUND, "allow_sharing", "the rules are not there yet", "register them before");
}
