/* The ops that a pass calls, and their limits on the mode and the sizes. */
#include "runner/runner.h"

#include <string.h>

static void record_op(void *user, const bg_op *op)
{
    bg_runner *runner = user;
    for (size_t i = 0; i < runner->op_count; i++)
        if (runner->ops[i] == op)
            return;
    if (BG__ARRAY_GROW(runner->ops, runner->op_count, runner->op_capacity, "ops") != BG_OK) {
        runner->ops_lost = true;
        return;
    }
    runner->ops[runner->op_count++] = op;
}

void bg__pass_ops_observe_begin(bg_runner *runner)
{
    if (runner->resolved)
        return;
    bg__thread_self()->observe = record_op;
    bg__thread_self()->observer = runner;
}

void bg__pass_ops_observe_end(void)
{
    bg__thread_self()->observe = NULL;
    bg__thread_self()->observer = NULL;
}

/* Keeps the limits ascending, and each once. */
static void insert_row_limit(bg_runner *runner, int limit)
{
    int *limits, at = 0;

    while (at < runner->row_limit_count && runner->row_limits[at] < limit)
        at++;
    if (at < runner->row_limit_count && runner->row_limits[at] == limit)
        return;
    if (BG__ARRAY_GROW(runner->row_limits, runner->row_limit_count, runner->row_limit_capacity, "row limits") !=
        BG_OK) {
        runner->ops_lost = true;
        return;
    }
    limits = runner->row_limits;
    memmove(limits + at + 1, limits + at, (size_t)(runner->row_limit_count - at) * sizeof *limits);
    limits[at] = limit;
    runner->row_limit_count++;
}

static void insert_row_limits(void *user, const bg_op *op)
{
    for (int k = 0; k < BG_ROW_LIMITS && bg__op_row_limits(op)[k] > 0; k++)
        insert_row_limit(user, bg__op_row_limits(op)[k]);
}

/* Collects the limits of the ops seen, and of those that rules may put in their place. */
static bg_status collect_row_limits(bg_runner *runner)
{
    runner->row_limit_count = 0;
    for (size_t i = 0; i < runner->op_count; i++)
        insert_row_limits(runner, runner->ops[i]);
    return bg__compile_list_ops(runner->config.level, runner->ops, runner->op_count, insert_row_limits, runner);
}

static bg_status check_no_ops_lost(bg_runner *runner)
{
    if (!runner->ops_lost)
        return BG_OK;
    runner->ops_lost = false;
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a list of the ops that the forward pass calls");
}

/* Lowers the mode to what the ops seen support, and adds their row limits as sizes. */
static bg_status resolve_mode(bg_runner *runner, bool *replanned)
{
    bg_status status;
    char why[400];
    bool lowered;
    bg__scope scope = {
        .mode = runner->mode, .query_lens = runner->query_lens, .query_len_count = runner->query_len_count};

    *replanned = false;
    BG__TRY(check_no_ops_lost(runner));
    BG__TRY(collect_row_limits(runner));
    BG__TRY(check_no_ops_lost(runner));
    lowered = bg__scope_lower(&scope, runner->ops, runner->op_count, why, sizeof why);
    if (lowered || bg__plan_lacks_row_limits(runner)) {
        BG__TRY(bg__plan_make(runner, &scope));
        *replanned = true;
    }
    if (lowered)
        bg__warn("%s", why);
    runner->resolved = true;
done:
    return status;
}

bg_status bg__pass_ops_resolve(bg_runner *runner, bool *replanned)
{
    return bg__runner_agree_on_mode(runner, resolve_mode(runner, replanned));
}
