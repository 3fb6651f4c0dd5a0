/* Captures in the background, between two batches, within a budget of time. */
#include "runner/runner.h"

/* Chooses among the missing buckets whose estimate fits: the one that most batches have wanted, then the largest; NULL:
 * none fits. With ranks it chooses the largest, since batches of another rank may have wanted another bucket. */
static bg_status choose_missing_bucket(bg_runner *runner, double left_ms, bg__bucket **chosen)
{
    bg_status status = BG_OK;

    *chosen = NULL;
    for (int i = 0; i < runner->plan.bucket_count; i++) {
        bg__bucket *bucket = runner->plan.order[i];
        bool cannot = left_ms <= 0 || bg__bucket_estimate_ms(runner, bucket) > left_ms;
        if (bucket->graph != NULL || bucket->failure != NULL)
            continue;
        if (*chosen != NULL && bucket->wanted <= (*chosen)->wanted)
            continue;
        BG__TRY(bg__runner_agree_on_lazy(runner, bucket, &cannot));
        if (cannot)
            continue;
        *chosen = bucket;
        if (runner->ranks.there)
            break;
    }
done:
    return status;
}

static bg_status capture_within_budget(bg_runner *runner, double budget_ms)
{
    const double begin = bg__now_ms();
    bg_status status = BG_OK;

    while (true) {
        const double left_ms = budget_ms - (bg__now_ms() - begin);
        bool replanned;
        bg__bucket *bucket;
        BG__TRY(choose_missing_bucket(runner, left_ms, &bucket));
        if (bucket == NULL)
            break;
        bg__capture_timer_start(runner);
        BG__TRY(bg__capture_bucket(runner, bucket, false, &replanned));
        if (replanned) /* all buckets have been replaced */
            continue;
        BG__TRY(bg__capture_timer_stop(runner, bucket));
        bg__count_idle(bg__now_ms() - begin > budget_ms);
    }
done:
    return status;
}

static bg_status check_idle_call(bg_runner *runner, int64_t budget_us)
{
    static const char function[] = "bg_runner_idle";
    bg_status status;

    if (budget_us < 0)
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "%s: budget_us is %lld; allowed are 0 and more", function,
                 (long long)budget_us);
    BG__TRY(bg__runner_check_thread_device(runner, function));
    BG__TRY(bg__runner_check_can_capture(function));
    BG__TRY(bg__runner_lock_pool(runner, function));
done:
    return status;
}

bg_status bg_runner_idle(bg_runner *runner, int64_t budget_us)
{
    bg_status status;

    BG__NEED(runner);
    bg__foreign_error_note();
    status = bg__runner_check_not_running(runner, __func__);
    if (status != BG_OK)
        return status; /* the running call has the pool */
    status = check_idle_call(runner, budget_us);
    if (runner->config.lazy != BG_LAZY_BACKGROUND || !runner->started)
        goto done;
    BG__TRY(bg__ranks_share_failure(&runner->ranks, "before captures in the background", status));
    runner->running = true;
    status = capture_within_budget(runner, (double)budget_us / 1000);
    runner->running = false;
done:
    bg__runner_unlock_pool(runner);
    return status;
}
