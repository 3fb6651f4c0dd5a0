/* Repeats the eager pass, to separate calls that the graph computes wrongly from calls that vary from run to run. */
#include <string.h>

#include "argument_findings.h"
#include "comparison.h"

enum { TRIES = 8 }; /* runs may be equal by chance */

typedef struct repeated_call {
    bg__shadow *shadow;
    const void *args; /* arguments of the call that is compared */
    cudaStream_t stream;
    bool inputs; /* compares the inputs of an inner call, which its outer call has changed */
} repeated_call;

/* ---- arguments ---- */

/* fixed: inputs must also have the same addresses. Padding of values counts, too: a call is excused only if its
 * arguments are known to be the same. */
static bool has_same_arguments(const bg_op *op, const void *one, const void *other, bool fixed)
{
    bg__field_tensor a = {0}, b = {0};

    for (uint32_t i = 0; i < op->field_count; i++) {
        const bg_field *f = &op->fields[i];
        if (f->role == BG_ROLE_VALUE &&
            memcmp((const char *)one + f->offset, (const char *)other + f->offset, f->size) != 0)
            return false;
    }
    while (bg__field_tensor_next(op, one, &a) && bg__field_tensor_next(op, other, &b))
        if (a.input &&
            (!bg__tensors_have_same_shape(a.tensor, b.tensor) || (fixed && a.tensor->data != b.tensor->data)))
            return false;
    return true;
}

static bool has_same_arguments_everywhere(const repeated_call *r, const bg__call *call)
{
    const bg__pass_call *kept = bg__pass_calls_find(&r->shadow->calls, call->name);
    const void *graphs = bg__graph_call_args(r->shadow->graph, call);
    return kept != NULL && graphs != NULL && has_same_arguments(call->op, kept->args, r->args, true) &&
           has_same_arguments(call->op, graphs, r->args, false);
}

/* ---- the repeated run ---- */

/* The call of the graph that is the pair of a call of the eager pass, if the walk over the graph compares it: calls
 * inside the body of a break are not compared. */
static const bg__call *find_graph_call(const bg__shadow *s, const bg__call *eager)
{
    const bg__call_key *began = bg__call_index_find_call(&s->inputs.index, eager);
    const bg__call *call = began != NULL ? bg__shadow_find_call(s, began->name) : NULL;
    for (const bg__call *outer = call != NULL ? call->parent : NULL; outer != NULL; outer = outer->parent)
        if (outer->op != NULL && outer->eager)
            return NULL;
    return call;
}

/* Sets an output that varies to that of the kept run, so that the next call gets the same inputs. */
static bg_status record_varying_call(void *user, const bg__pass_difference *d)
{
    const repeated_call *r = user;
    bg__shadow *s = r->shadow;
    const bg__call *call = find_graph_call(s, r->inputs ? d->call->parent : d->call);
    bg__suspect *suspect;
    bg_status status = BG_OK;

    if (call == NULL)
        return BG_OK;
    if (d->shape || d->found.beyond > 0) {
        BG__TRY(bg__suspects_find_or_add(&s->suspects, call, &suspect));
        if (!suspect->varies && !suspect->not_joined)
            memcpy(suspect->field, d->field->name, sizeof suspect->field);
        suspect->varies = true;
        suspect->same_arguments = !r->inputs && has_same_arguments_everywhere(r, call);
        suspect->repeated += d->shape ? 0 : d->found.digest[1];
    }
    if (!d->shape && d->found.differing > 0)
        BG__TRY(bg__copy_and_wait(d->field->tensor->data, d->held, bg_tensor_bytes(d->field->tensor), r->stream));
done:
    return status;
}

static bg_status compare_repeated(bg__shadow *s, const bg__call *call, const void *args, cudaStream_t stream,
                                  bool inputs)
{
    repeated_call r = {s, args, stream, inputs};
    const bg__pass_comparison c = {&s->tolerances, s->room, stream, record_varying_call, &r};
    return bg__pass_calls_compare(inputs ? &s->inner : &s->calls, call, args, NULL, &c);
}

static bg_status compare_inner_inputs(void *user, const bg__call *call, const void *args, cudaStream_t stream)
{
    return call->parent->op != NULL ? compare_repeated(user, call, args, stream, true) : BG_OK;
}

static bg_status compare_outputs(void *user, const bg__call *call, const void *args, cudaStream_t stream)
{
    bg__shadow *s = user;
    bg_status status = BG_OK;

    BG__TRY(bg__shadow_wait_after_break(s, call, args, stream));
    BG__TRY(compare_repeated(s, call, args, stream, false));
done:
    return status;
}

static bg_status repeat_eager(bg__shadow *s)
{
    const bg__op_observer watcher = {compare_inner_inputs, compare_outputs, s};
    bg_status status;

    for (size_t i = 0; i < s->suspects.count; i++)
        s->suspects.list[i].repeated = 0;
    s->eager.also = &watcher;
    status = bg__shadow_run_eager(s, false, false);
    s->eager.also = NULL;
    BG__TRY(status);
    BG__TRY(bg__shadow_restore(s));
done:
    return status;
}

/* ---- the judgement ---- */

static bool is_new_suspect(const bg__suspect *suspect)
{
    return (suspect->differs || suspect->not_joined) && !suspect->judged;
}

/* The replay differs, no call does, and no other cause is known. */
static bool is_unexplained(const bg__shadow *s)
{
    return s->suspects.order && !bg__report_is_explained(s->report);
}

/* The call is not known to vary, and its nodes may add numbers in any order: either it differs only by rounding, or
 * another order of nodes gives another difference. */
static bool is_in_doubt(const bg__suspect *suspect)
{
    return suspect->differs && !suspect->varies && !suspect->call->eager && (!suspect->large || suspect->open);
}

static bool any_in_doubt(const bg__shadow *s)
{
    for (size_t i = 0; i < s->suspects.count; i++)
        if (is_in_doubt(&s->suspects.list[i]))
            return true;
    return false;
}

/* Whether the outputs differ between the walks. They do not if both walks are equally far from the eager run: that is
 * so for a call that froze a value, even if its sums round differently in each walk. */
static bool differs_between_walks(const bg__suspect *suspect)
{
    const double a = suspect->errors[0], b = suspect->errors[1], most = a > b ? a : b;
    const bool as_far =
        suspect->large && suspect->counts[0] == suspect->counts[1] && most > 0 && most - (a < b ? a : b) <= 1e-3 * most;
    return suspect->digests[0] != suspect->digests[1] && !as_far;
}

/* Judges a suspect after a walk in another order. A call that differs only in that order counts only if nothing else
 * explains that the replay differs. */
static void judge_order(bg__suspect *suspect, bool unexplained)
{
    const bool moved = differs_between_walks(suspect);

    if (moved && !suspect->varies && !suspect->large && (suspect->first || unexplained))
        suspect->varies = suspect->order = true;
    suspect->differs &= suspect->first || suspect->varies;
    suspect->moves |= suspect->differs ? moved : suspect->varies && unexplained;
    suspect->open |= moved;
}

static bg_status walk_in_order(bg__shadow *s, int order, bool unexplained)
{
    bg_status status;

    s->suspects.walk = order;
    BG__TRY(bg__shadow_find_suspects(s));
    BG__TRY(bg__shadow_restore(s));
    for (size_t i = 0; i < s->suspects.count; i++)
        judge_order(&s->suspects.list[i], unexplained);
done:
    return status;
}

/* Further walks run the unordered nodes of each call in other orders. They show whether a captured call that varies has
 * frozen a value, or varies in replays as well, as sums by atomics do. */
static bg_status repeat_walks(bg__shadow *s)
{
    const bool unexplained = is_unexplained(s);
    bool again = unexplained || any_in_doubt(s);
    bg_status status = BG_OK;

    for (size_t i = 0; i < s->suspects.count; i++)
        again |= s->suspects.list[i].varies && !s->suspects.list[i].call->eager;
    for (int order = 1; order <= TRIES; order++) {
        BG__TRY(bg__shadow_any_rank(s, "calls vary", &again));
        if (!again)
            break;
        BG__TRY(walk_in_order(s, order, unexplained));
        again = any_in_doubt(s) || (unexplained && !bg__suspects_all_vary(&s->suspects));
    }
    s->suspects.order &= !bg__suspects_all_vary(&s->suspects);
done:
    return status;
}

static bool has_late_write(const bg__suspects *suspects)
{
    for (size_t i = 0; i < suspects->count; i++)
        if (suspects->list[i].not_joined)
            return true;
    return false;
}

/* The cause may be work that a break leaves on another stream, or a call that varies by itself. Both depend on chance,
 * so the eager run is repeated. */
static bg_status repeat_for_chance(bg__shadow *s)
{
    bg_status status = BG_OK;

    for (int i = 0; i < TRIES; i++) {
        bool again = any_in_doubt(s) ||
                     (is_unexplained(s) && !bg__suspects_all_vary(&s->suspects) && !has_late_write(&s->suspects));
        BG__TRY(bg__shadow_any_rank(s, "a cause is missing", &again));
        if (!again)
            break;
        BG__TRY(repeat_eager(s));
    }
done:
    return status;
}

/* Finds whether the order of nodes matters to a captured call that differs, although two eager runs agree. */
static bg_status check_node_order(bg__shadow *s)
{
    bool again = false;
    bg_status status;

    for (size_t i = 0; i < s->suspects.count; i++) {
        bg__suspect *suspect = &s->suspects.list[i];
        suspect->first = suspect->differs;
        again |= suspect->differs && !suspect->varies && suspect->large && !suspect->call->eager;
    }
    BG__TRY(bg__shadow_any_rank(s, "calls differ by much", &again));
    if (again)
        BG__TRY(walk_in_order(s, 1, false));
done:
    return status;
}

bg_status bg__shadow_judge(bg__shadow *s, bool differs, bool *found)
{
    bg__suspects *suspects = &s->suspects;
    bool in_calls = false, in_order = suspects->order;
    bg_status status;

    *found = s->joins = false;
    suspects->walk = 0;
    BG__TRY(bg__shadow_find_suspects(s));
    BG__TRY(bg__shadow_restore(s));
    for (size_t i = 0; i < suspects->count; i++) {
        in_calls |= suspects->list[i].differs || suspects->list[i].not_joined;
        *found |= is_new_suspect(&suspects->list[i]);
    }
    suspects->order = differs && !in_calls;
    *found |= suspects->order && !in_order;
    BG__TRY(bg__shadow_any_rank(s, "calls differ", found));
    if (!*found)
        goto done;
    s->joins = true;
    if (bg__graph_get_facts(s->graph).breaks > 0)
        BG__TRY(bg__shadow_find_suspects(s));
    BG__TRY(bg__shadow_restore(s));
    BG__TRY(repeat_eager(s));
    BG__TRY(bg__suspects_list_races(suspects, s->graph));
    BG__TRY(check_node_order(s));
    BG__TRY(repeat_for_chance(s));
    BG__TRY(repeat_walks(s));
    for (size_t i = 0; i < suspects->count; i++)
        suspects->list[i].judged = true;
done:
    return status;
}
