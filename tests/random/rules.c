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
    TRY(run_one(&args->first, stream));
    return run_one(&args->second, stream);
}

BG_OP(three, BG_FIELDS(one, first), BG_FIELDS(one, second), BG_FIELDS(one, third))
{
    TRY(run_one(&args->first, stream));
    TRY(run_one(&args->second, stream));
    return run_one(&args->third, stream);
}

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
    if (bg_rule_set_attributes("two", &attributes) != BG_OK || bg_rule_set_attributes("three", &attributes) != BG_OK)
        bg_report_failure(BG_ERROR_NOT_FOUND, "allow_sharing", "the rules are not there yet", "register them before");
}
