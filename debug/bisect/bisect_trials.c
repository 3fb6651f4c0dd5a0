#include "bisect_trials.h"

#include <stdio.h>
#include <string.h>

static bool fill_trial(cJSON *item, const char *const *eager, size_t count, bool all, const char *why,
                       bg_verdict verdict, double seconds)
{
    static const char *const verdicts[] = {"good", "bad", "skip"};
    cJSON *names = cJSON_AddArrayToObject(item, "eager");
    for (size_t i = 0; names != NULL && i < count; i++)
        if (!cJSON_AddItemToArray(names, cJSON_CreateString(eager[i])))
            return false;
    return names != NULL && cJSON_AddBoolToObject(item, "all", all) && cJSON_AddStringToObject(item, "why", why) &&
           cJSON_AddStringToObject(item, "verdict", verdicts[verdict]) &&
           cJSON_AddNumberToObject(item, "seconds", seconds);
}

bg_status bg__trial_record(bg__bisection *b, const char *const *eager, size_t count, bool all, const char *why,
                           bg_verdict verdict, double began_ms)
{
    cJSON *list = bg__report_part(b->shadow.report, "trials"), *item = cJSON_CreateObject();
    double seconds = (bg__now_ms() - began_ms) / 1000;

    if (list != NULL && item != NULL && fill_trial(item, eager, count, all, why, verdict, seconds) &&
        cJSON_AddItemToArray(list, item))
        return BG_OK;
    cJSON_Delete(item);
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the trials of a bisect");
}

bg_status bg__trial_run_eager(bg__bisection *b, bg_verdict *verdict)
{
    bg__shadow *s = &b->shadow;
    double began = bg__now_ms();
    bool differs;
    size_t beyond;
    bg_status status;

    BG__TRY(bg__shadow_restore(s));
    BG__TRY(bg__shadow_run_eager(s, false, false));
    BG__TRY(bg__shadow_compare_outputs(s, true, NULL, &beyond));
    differs = beyond > 0;
    BG__TRY(bg__shadow_any_rank(s, "the eager pass differs from itself", &differs));
    *verdict = differs ? BG_BAD : BG_GOOD;
    BG__TRY(
        bg__trial_record(b, NULL, 0, true, "the pass run eagerly once more, compared with itself", *verdict, began));
done:
    return status;
}

static bg_status record_large_difference(bg__shadow *s, bg__shadow_output *out, const bgk_difference *found)
{
    bg__bisection *b = (bg__bisection *)s; /* shadow is its first member */
    b->large |= found == NULL || !bg__is_rounding(out->tensor, found);
    return BG_OK;
}

bg_status bg__trial_run_replay(bg__bisection *b, bool *differs)
{
    bg__shadow *s = &b->shadow;
    bg_status status = BG_OK;
    size_t beyond;

    *differs = false;
    for (int i = 0; i < s->options.repeats && !*differs; i++) {
        BG__TRY(bg__shadow_restore(s));
        BG__TRY(bg__shadow_run_replay(s));
        BG__TRY(bg__shadow_compare_outputs(s, false, record_large_difference, &beyond));
        *differs = beyond > 0;
        BG__TRY(bg__shadow_any_rank(s, "the replay differs", differs));
    }
done:
    return status;
}

const char *bg__trial_pattern(bg__bisection *b, const char *const *names, size_t count)
{
    char *end = b->pattern;
    for (size_t i = 0; i < count && names[i] != NULL; i++) {
        end = stpcpy(end, names[i]);
        *end++ = ',';
    }
    *(end > b->pattern ? end - 1 : end) = '\0';
    return b->pattern;
}

static bg_status run_trial(bg__bisection *b, const char *const *eager, size_t count, const char *why,
                           bg_verdict *verdict)
{
    bg__shadow *s = &b->shadow;
    double began = bg__now_ms();
    bg_graph *graph = NULL;
    bool differs;
    bg_status status;

    BG__TRY(bg__shadow_capture(s, &b->pass, bg__trial_pattern(b, eager, count), &graph));
    BG__TRY(bg__shadow_set_graph(s, graph));
    BG__TRY(bg__trial_run_replay(b, &differs));
    *verdict = differs ? BG_BAD : BG_GOOD;
    BG__TRY(bg__trial_record(b, eager, count, count == b->count, why, *verdict, began));
done:
    s->graph = NULL;
    bg__shadow_unpair_calls(s);
    bg_graph_destroy(graph);
    return status;
}

bg_status bg__trial_run(bg__bisection *b, const char *const *eager, size_t count, const char *why, bg_verdict *verdict)
{
    double began = bg__now_ms();
    bg_status status = run_trial(b, eager, count, why, verdict);
    char text[1024], told[1200];

    if (status == BG_OK || status == BG_ERROR_OUT_OF_MEMORY || b->shadow.options.ranks != NULL)
        return status;
    snprintf(text, sizeof text, "%s", bg_last_error());
    if (bg__shadow_restore(&b->shadow) != BG_OK) { /* the device has failed */
        bg__error_set_text(text);
        return status;
    }
    *verdict = BG_SKIP;
    snprintf(told, sizeof told, "%s; it fails: %s", why, text);
    return bg__trial_record(b, eager, count, false, told, BG_SKIP, began);
}
