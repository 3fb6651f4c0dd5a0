/* Rules for the ops of random programs: with BG_COMPILE=2 calls of them that stand side by side become one op. */
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
    bg_status status = run_one(&args->first, stream);
    return status == BG_OK ? run_one(&args->second, stream) : status;
}

BG_OP(three, BG_FIELDS(one, first), BG_FIELDS(one, second), BG_FIELDS(one, third))
{
    bg_status status = run_one(&args->first, stream);
    if (status == BG_OK)
        status = run_one(&args->second, stream);
    return status == BG_OK ? run_one(&args->third, stream) : status;
}

/* Whether the call is no more than that: nothing is planted, and all rows are written. */
static bool is_plain(how h, const bg_tensor *y)
{
    return h.shorter == SHORTER_NEVER && h.failing == FAILING_NEVER && h.own != this_pass.nan_at &&
           h.own != this_pass.stack_copy_at && h.own != this_pass.leak_at && y->rank == 1 && y->dim[0] == ELEMENTS;
}

static one of_mix(const mix_args *args)
{
    return (one){.a = args->a, .b = args->b, .y = args->y, .k = args->k};
}

static one of_bump(const bump_args *args)
{
    return (one){.a = args->x, .b = args->x, .y = args->x, .k = args->k};
}

BG_RULE(two, mix, mix)
{
    *args = (two_args){.first = of_mix(a0), .second = of_mix(a1)};
    return is_plain(a0->how, &a0->y) && is_plain(a1->how, &a1->y);
}

BG_RULE(two, mix, bump)
{
    *args = (two_args){.first = of_mix(a0), .second = of_bump(a1)};
    return is_plain(a0->how, &a0->y) && is_plain(a1->how, &a1->x);
}

BG_RULE(two, bump, mix)
{
    *args = (two_args){.first = of_bump(a0), .second = of_mix(a1)};
    return is_plain(a0->how, &a0->x) && is_plain(a1->how, &a1->y);
}

BG_RULE(two, bump, bump)
{
    *args = (two_args){.first = of_bump(a0), .second = of_bump(a1)};
    return is_plain(a0->how, &a0->x) && is_plain(a1->how, &a1->x);
}

BG_RULE(three, mix, bump, mix)
{
    *args = (three_args){.first = of_mix(a0), .second = of_bump(a1), .third = of_mix(a2)};
    return is_plain(a0->how, &a0->y) && is_plain(a1->how, &a1->x) && is_plain(a2->how, &a2->y);
}

BG_RULE(three, bump, bump, bump)
{
    *args = (three_args){.first = of_bump(a0), .second = of_bump(a1), .third = of_bump(a2)};
    return is_plain(a0->how, &a0->x) && is_plain(a1->how, &a1->x) && is_plain(a2->how, &a2->x);
}

/* Each op computes one call after the other, so that these may share memory in any way. */
__attribute__((constructor)) static void allow_sharing(void)
{
    bg_rule_attributes attributes = BG_RULE_ATTRIBUTES_INIT;
    attributes.in_place = true;
    if (bg_rule_set_attributes("two", &attributes) != BG_OK || bg_rule_set_attributes("three", &attributes) != BG_OK)
        bg_report_failure(BG_ERROR_NOT_FOUND, "allow_sharing", "the rules are not there yet", "register them before");
}
