/* The op calls of a walk, before and after their nodes run. */
#include "walk.h"

#include <string.h>

/* A call that stands for several members is counted as one call, but options.before and after get each member. */
static bg_status notify_call_begin(const bg__walk_state *w, const bg__call *call, const void *args)
{
    bg_status status = BG_OK;

    if (w->options->before == NULL)
        return BG_OK;
    if (call->members == NULL)
        return w->options->before(w->options->user, call, args);
    for (int i = 0; i < call->member_count; i++)
        BG__TRY(w->options->before(w->options->user, call->members[i], call->members[i]->kept));
done:
    return status;
}

bg_status bg__walk_notify_call_end(const bg__walk_state *w, const bg__call *call, const void *args, bool late)
{
    bg_status status = BG_OK;

    if (w->options->after == NULL)
        return BG_OK;
    if (call->members == NULL)
        return w->options->after(w->options->user, call, args, late);
    for (int i = 0; i < call->member_count; i++)
        BG__TRY(w->options->after(w->options->user, call->members[i], call->members[i]->kept, late));
done:
    return status;
}

bg_status bg__walk_begin_call(bg__walk_state *w, const bg__call *call, const void *args, bg__special_counts *inputs)
{
    bg_status status;
    BG__TRY(bg__specials_count_inputs(&w->look, call, args, inputs));
    BG__TRY(notify_call_begin(w, call, args));
done:
    return status;
}

bg_status bg__walk_finish_call(bg__walk_state *w, const bg__call *call, const void *args,
                               const bg__special_counts *inputs, bg__walk_unit *u)
{
    bg__special_counts outputs;
    bg_status status;
    BG__TRY(bg__specials_check_outputs(&w->look, call, args, inputs, &outputs));
    w->end->looked.calls++;
    if (call == u->call)
        u->held = outputs;
    if (w->options->dump != NULL)
        BG__TRY(bg__dump_call(w->options->dump, call, args, w->stream));
    BG__TRY(bg__walk_notify_call_end(w, call, args, false));
    u->stop |= w->options->stop != NULL && bg__step_call_is_named(call, w->options->stop);
done:
    return status;
}

/* Continues a call that began in an earlier segment, with the counts of its inputs from there. If none of its nodes was
 * stepped there, its inputs were not counted, and no NaN is reported to originate in it. */
static void resume_call(const bg__walk_state *w, const bg__step_part *p, bg__step_call *c)
{
    c->inputs = (bg__special_counts){.nan = 1, .inf = 1};
    for (const bg__step_part *q = &w->parts.list[c->call->segment]; q < p; q++) {
        const bg__step_call *earlier = bg__step_calls_find_by_call(q->calls, c->call);
        if (earlier == NULL || !earlier->begun)
            continue;
        c->inputs = earlier->inputs;
        return;
    }
}

bg_status bg__walk_begin_calls(bg__walk_state *w, bg__step_part *p, bg__step_call *c)
{
    bg_status status = BG_OK;

    if (c == NULL || c->begun)
        return BG_OK;
    BG__TRY(bg__walk_begin_calls(w, p, c->outer));
    c->begun = true;
    if (p > &w->parts.list[c->call->segment])
        resume_call(w, p, c);
    else
        BG__TRY(bg__walk_begin_call(w, c->call, c->call->kept, &c->inputs));
done:
    return status;
}

bg_status bg__walk_end_calls(bg__walk_state *w, bg__step_call *c, bg__walk_unit *u)
{
    bg_status status = BG_OK;
    for (; c != NULL; c = c->outer)
        if (c->last && --c->left == 0)
            BG__TRY(bg__walk_finish_call(w, c->call, c->call->kept, &c->inputs, u));
done:
    return status;
}

/* The part of a captured call in the segment in which it begins; NULL: none. */
static bg__step_call *find_first_part(const bg__walk_state *w, const bg__call *call)
{
    return call->op == NULL || call->segment < 0 || call->segment >= bg__graph_segment_count(w->graph)
               ? NULL
               : bg__step_calls_find_by_call(w->parts.list[call->segment].calls, call);
}

bg_status bg__walk_begin_enclosing_calls(bg__walk_state *w, const bg__call *eager)
{
    bg_status status = BG_OK;
    for (const bg__call *call = eager->parent; call != NULL && call->op != NULL; call = call->parent) {
        bg__step_call *c = find_first_part(w, call);
        if (c == NULL || c->begun)
            continue;
        c->begun = true;
        BG__TRY(bg__walk_begin_call(w, call, call->kept, &c->inputs));
    }
done:
    return status;
}

void bg__walk_begin_uncounted(bg__step_call *c)
{
    c->begun = true;
    c->inputs = (bg__special_counts){.nan = 1, .inf = 1};
}

void bg__walk_skip_calls(const bg__walk_state *w, bg__step_view step)
{
    const bg__step_calls *calls = step.kind == BG__STEP_LAUNCH ? w->parts.list[step.place].calls : NULL;

    for (size_t i = 0; calls != NULL && i < calls->count; i++)
        if (calls->calls[i].left > 0) /* else an eager call behind the segment begins it */
            bg__walk_begin_uncounted(&calls->calls[i]);
    for (const bg__call *call = step.kind == BG__STEP_CALL ? step.call->parent : NULL; call != NULL;
         call = call->parent) {
        bg__step_call *c = find_first_part(w, call);
        if (c != NULL)
            bg__walk_begin_uncounted(c);
    }
}
