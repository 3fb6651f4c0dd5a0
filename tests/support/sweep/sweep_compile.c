/* Scenarios of the fault sweep with rules: z = 6 x, by two calls or by the op that stands for them. */
#include "sweep.h"

#include <breakgraph/compile.h>

#include "capture/capture.h"

/* Where a body fails in a proof, the rule is not used, and that is told: the scenario goes on. */
static bg_status own_but_in_proofs(cudaError_t error)
{
    const bg_capture *capture = bg__thread_pass_or_capture();
    return capture != NULL && capture->in_body ? from_cuda(error) : sweep_own(error);
}

BG_OP(sweep_times, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return own_but_in_proofs(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}

BG_OP(sweep_times_twice, BG_IN(x), BG_OUT(y), BG_OUT(z), BG_VALUE(float, first), BG_VALUE(float, second))
{
    void *scratch;
    TRY_BG(bg_scratch(args, N * sizeof(float), &scratch));
    TRY_BG(own_but_in_proofs(bgk_scale(scratch, args->x.data, args->first, N, stream)));
    TRY_BG(own_but_in_proofs(bgk_scale(args->y.data, scratch, 1, N, stream)));
    return own_but_in_proofs(bgk_scale(args->z.data, scratch, args->second, N, stream));
}

BG_RULE(sweep_times_twice, sweep_times, sweep_times)
{
    if (a1->x.data != a0->y.data)
        return false;
    *args = (sweep_times_twice_args){.x = a0->x, .y = a0->y, .z = a1->y, .first = a0->factor, .second = a1->factor};
    return true;
}

SCENE_PASS(pass)
{
    TRY_BG(BG_CALL(sweep_times, stream, .x = s->x, .y = s->y, .factor = 2));
    return BG_CALL(sweep_times, stream, .x = s->y, .y = s->z, .factor = 3);
}

void sweep_compiled(void)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    sweep_scene *s = sweep_here();
    OWNED_GRAPH(graph);

    options.level = BG_LEVEL_ONCE;
    if (sweep_ok(bg_capture_forward(&graph, pass, s, s->stream, &options)))
        s->replay_failed = !sweep_ok(bg_replay(graph, s->stream));
}
