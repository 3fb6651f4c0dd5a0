/* What the runners of all ranks compare: their settings, and the choice of bucket for each batch. */
#include "runner/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool bg__runner_compares_choices(const bg_runner *runner)
{
    const char *debug = bg__env_value("BG_DEBUG");

    if (!runner->ranks.there)
        return false;
    if (runner->ranks.table.compare_choices)
        return true;
    if (runner->config.debug != BG_DEBUG_FROM_ENV)
        return runner->config.debug != BG_DEBUG_OFF;
    return debug != NULL && strcmp(debug, "off") != 0;
}

void bg__bucket_name(const bg__bucket *bucket, char *name, size_t bytes)
{
    char query[24] = "", variant[24] = "";
    if (bucket->query_len > 1)
        snprintf(query, sizeof query, " query_len %d", bucket->query_len);
    if (bucket->variant > 0)
        snprintf(variant, sizeof variant, " variant %d", bucket->variant);
    snprintf(name, bytes, "%s %s %d%s%s", bg__mode_name(bucket->mode), bucket->query_len > 0 ? "decode" : "tokens",
             bucket->tokens, query, variant);
}

/* ---- the configuration ---- */

typedef void (*print)(const bg_runner *runner, FILE *out);

static void print_config(const bg_runner *runner, FILE *out)
{
    static const char *const debugs[] = {"env", "off", "forward", "ops", "sync", "step"};
    const bg_runner_config *c = &runner->config;
    const char *environment = bg__env_value("BG_DEBUG");

    fprintf(out, "mode %s, schedule %s, max_tokens %d, max_query_len ", bg__mode_name(c->mode),
            c->schedule != NULL ? c->schedule : "powers", c->max_tokens);
    for (int i = 0; i < runner->query_len_count; i++)
        fprintf(out, "%s%d", i > 0 ? "," : "", runner->query_lens[i]);
    fprintf(out, ", warmups %d, max_padding %g, variants %d, ", c->warmups, c->max_padding, c->variants);
    fprintf(out, "lazy %d, memory_limit %zu, memory_fraction %g, level %d, compile_sizes %s, debug %s", c->lazy,
            c->memory_limit, c->memory_fraction, c->level, c->compile_sizes != NULL ? c->compile_sizes : "schedule",
            debugs[c->debug]);
    if (c->debug == BG_DEBUG_FROM_ENV)
        fprintf(out, " (%s)", environment != NULL ? environment : "off");
    fprintf(out, ", veto %s, pad_across_ranks %s, choices %s", c->veto != NULL ? "yes" : "no",
            c->pad_across_ranks != NULL ? "yes" : "no",
            bg__runner_compares_choices(runner) ? "compared" : "not compared");
}

static void print_buckets(const bg_runner *runner, FILE *out)
{
    char name[80];
    for (int i = 0; i < runner->plan.bucket_count; i++) {
        bg__bucket_name(runner->plan.order[i], name, sizeof name);
        fprintf(out, "%s%s", i > 0 ? ", " : "", name);
    }
    if (runner->plan.bucket_count == 0)
        fputs("none", out);
}

static bg_status agree_on_printed(bg_runner *runner, const char *what, print print)
{
    char *text = NULL, brief[400];
    size_t bytes = 0;
    bg_status status;
    FILE *out = open_memstream(&text, &bytes);

    if (out != NULL)
        print(runner, out);
    if (out == NULL || fclose(out) != 0 || text == NULL)
        snprintf(brief, sizeof brief, "out of host memory");
    else
        bg__shorten_with_digest(text, brief, sizeof brief);
    status = bg__ranks_agree(&runner->ranks, what, brief);
    free(text);
    return status;
}

/* Compares the eager ops that the configuration, the program and the environment set. */
static bg_status agree_on_eager_ops(bg_runner *runner)
{
    bg__override *override = NULL;
    char *text = NULL, brief[400] = "";
    bg_status status = bg__override_create(&override, runner->config.eager_ops);

    if (status == BG_OK)
        status = bg__override_format(override, &text);
    if (status == BG_OK)
        bg__shorten_with_digest(text, brief, sizeof brief);
    status = bg__ranks_agree_after(&runner->ranks, "the eager ops of the runner", brief, status);
    bg__override_free(override);
    free(text);
    return status;
}

bg_status bg__runner_agree(bg_runner *runner, bg_status status)
{
    runner->agreed = false;
    runner->ranks.parted = false;
    BG__TRY(bg__ranks_share_failure(&runner->ranks, "before the captures of the runner", status));
    if (!runner->ranks.there)
        return BG_OK;
    BG__TRY(agree_on_printed(runner, "the configuration of the runner", print_config));
    BG__TRY(agree_on_eager_ops(runner));
    BG__TRY(agree_on_printed(runner, "the buckets of the runner", print_buckets));
    runner->agreed = true;
done:
    return status;
}

bg_status bg__runner_agree_once(bg_runner *runner)
{
    return runner->ranks.there && !runner->agreed ? bg__runner_agree(runner, BG_OK) : BG_OK;
}

bg_status bg__runner_agree_on_mode(bg_runner *runner, bg_status status)
{
    char text[240];
    int used = snprintf(text, sizeof text, "%s, number of query lengths that have decode graphs: %d",
                        bg__mode_name(runner->mode), runner->plan.group_count - 1);

    for (int i = 0; i < runner->row_limit_count && used < (int)sizeof text; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s %d", i == 0 ? ", row limits" : "",
                         runner->row_limits[i]);
    return bg__ranks_agree_after(&runner->ranks, "the mode that the ops of the pass support", text, status);
}

/* ---- lazy captures ---- */

bg_status bg__runner_agree_on_lazy(bg_runner *runner, const bg__bucket *bucket, bool *cannot)
{
    char name[80];
    bg_status status;

    BG__TRY(bg__runner_agree_once(runner));
    bg__bucket_name(bucket, name, sizeof name);
    BG__TRY(bg__ranks_agree(&runner->ranks, "the bucket that is to be captured now", name));
    BG__TRY(bg__ranks_any(&runner->ranks, "whether a rank cannot capture now", cannot));
done:
    return status;
}

/* ---- eager runs ---- */

bg_status bg__runner_run_eagerly(bg_runner *runner, const bg_forward_context *context)
{
    bg_ranks *table = &runner->ranks.table;
    bg_status status;

    if (!bg__ranks_has_watchdog(&runner->ranks))
        return bg__pass_run_eager(runner, context);
    BG__TRY(bg__ranks_enter(&runner->ranks, "an eager run", runner->eager_runs++, 1));
    status = bg__pass_run_eager(runner, context);
    if (status == BG_OK)
        status = bg__ranks_step(&runner->ranks, 0, "the forward pass", runner->stream);
    table->leave(table->user);
done:
    return status;
}
