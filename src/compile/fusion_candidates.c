/* Finds sequences of calls that match rules, and chooses among them. */
#include "compile/compile.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bg_status bg__fusion_set_state(bg__fusion *run, bg_fusion_state state, const char *format, ...)
{
    char text[600];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    free(run->why);
    run->state = state;
    run->why = strdup(text);
    return run->why != NULL ? BG_OK : bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for what rules do");
}

/* ---- names ---- */

static char *make_fusion_name(const bg_rule *rule, bg__call *const *calls)
{
    size_t bytes = strlen(rule->op->name) + 3;
    char *name, *end;

    for (int i = 0; i < rule->count; i++)
        bytes += strlen(calls[i]->name) + 2;
    name = malloc(bytes);
    if (name == NULL)
        return NULL;
    end = stpcpy(stpcpy(name, rule->op->name), "[");
    for (int i = 0; i < rule->count; i++)
        end = stpcpy(stpcpy(end, i > 0 ? ", " : ""), calls[i]->name);
    stpcpy(end, "]");
    return name;
}

/* All rules of an op share the counter of the first one. */
static int *fusion_counter(bg__compiled *compiled, const bg_rule *rule)
{
    int i = 0;
    while (compiled->rules[i].op != rule->op)
        i++;
    return &compiled->numbers[i];
}

/* ---- what forbids a run ---- */

static bg_status refuse_raw_work(bg__fusion *run, const bg__call *one, const bg__call *next)
{
    return bg__fusion_set_state(run, BG_FUSION_REFUSED,
                                "work that no op has launched runs between %s and %s; make it an op, or move it",
                                one->name, next->name);
}

static bg_status check_call_positions(bg__fusion *run)
{
    bg__call *const *calls = run->calls;

    for (int i = 0; i < run->rule->count; i++) {
        if (calls[i]->parent != calls[0]->parent)
            return bg__fusion_set_state(run, BG_FUSION_REFUSED, "%s and %s are in the bodies of different calls",
                                        calls[0]->name, calls[i]->name);
        if (calls[i]->stream != calls[0]->stream)
            return bg__fusion_set_state(run, BG_FUSION_REFUSED, "a fork: %s and %s are on different streams",
                                        calls[0]->name, calls[i]->name);
        if (calls[i]->first_node < 0 || calls[i]->end_node <= calls[i]->first_node)
            return bg__fusion_set_state(run, BG_FUSION_REFUSED, "%s has no nodes in the graph", calls[i]->name);
        if (i > 0 && calls[i - 1]->end_node != calls[i]->first_node)
            return refuse_raw_work(run, calls[i - 1], calls[i]);
    }
    run->first = (size_t)calls[0]->first_node;
    run->end = (size_t)calls[run->rule->count - 1]->end_node;
    return BG_OK;
}

static const bg__call *find_call_of_node(const bg__fusion *run, size_t node)
{
    int i = 0;
    while (i + 1 < run->rule->count && node >= (size_t)run->calls[i]->end_node)
        i++;
    return run->calls[i];
}

/* Checks that no other work comes between the run's nodes. */
static bg_status check_chain(const bg__piece *piece, bg__fusion *run)
{
    if (run->end > piece->count)
        return bg__fusion_set_state(run, BG_FUSION_REFUSED, "its nodes are not known");
    for (size_t i = run->first; i < run->end; i++)
        if (piece->kept[i])
            return bg__fusion_set_state(
                run, BG_FUSION_REFUSED,
                "%s has a node that is no kernel, copy or memset, and that the op would not replace",
                find_call_of_node(run, i)->name);
    for (size_t i = run->first + 1; i < run->end; i++) {
        if (piece->before[i] == 1 && piece->previous[i] == i - 1 && piece->after[i - 1] == 1)
            continue;
        return bg__fusion_set_state(run, BG_FUSION_REFUSED,
                                    "a fork: other work waits for %s, or %s waits for other work",
                                    find_call_of_node(run, i - 1)->name, find_call_of_node(run, i)->name);
    }
    return BG_OK;
}

/* Whether the op supports less than the calls: a runner has lowered its mode to what the calls' ops support. */
static bool supports_less(const bg__fusion *run)
{
    bg_support support = BG_SUPPORT_ALWAYS;
    for (int i = 0; i < run->rule->count; i++)
        if (run->calls[i]->op->attributes_.graph_support > support)
            support = run->calls[i]->op->attributes_.graph_support;
    return run->rule->op->attributes_.graph_support > support;
}

static bg_status check_arguments(const bg__piece *piece, bg__fusion *run)
{
    const void *args[BG_RULE_CALLS];
    char why[400];

    run->rows = bg__call_rows(run->calls[0]);
    run->args = calloc(1, run->rule->op->args_size);
    if (run->args == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %s", run->name);
    for (int i = 0; i < run->rule->count; i++)
        args[i] = run->calls[i]->kept;
    if (run->rule->op->eager)
        return bg__fusion_set_state(run, BG_FUSION_REFUSED, "%s is an eager op, which a graph cannot have", run->op);
    if (piece->capture->options.inline_eager && supports_less(run))
        return bg__fusion_set_state(run, BG_FUSION_REFUSED,
                                    "%s supports fewer full graphs than the calls (graph_support)", run->op);
    if (!run->rule->match(args, run->args, run->rows))
        return bg__fusion_set_state(run, BG_FUSION_REFUSED, "the rule at %s:%d declines these arguments",
                                    run->rule->defined_at.file, run->rule->defined_at.line);
    if (!bg__fusion_check_tensors(run, why, sizeof why))
        return bg__fusion_set_state(run, BG_FUSION_REFUSED, "%s", why);
    return BG_OK;
}

/* ---- what excludes a run ---- */

/* The last pattern that matches decides. A list that has only exclusions selects all other runs. */
static bool is_selected(const bg__compiled *compiled, const bg__fusion *run)
{
    bg__pattern_list globs = {.list = compiled->wanted};
    bool named = false, wanted = false, all = true;
    char name[160];

    if (compiled->wanted == NULL)
        return true;
    snprintf(name, sizeof name, "%s#%d", run->rule->op->name, run->number);
    while (bg__pattern_list_next(&globs)) {
        all &= globs.negate;
        if (!bg__glob_matches_numbered(globs.text, globs.length, name))
            continue;
        named = true;
        wanted = !globs.negate;
    }
    return named ? wanted : all;
}

static bool lists_size(const char *sizes, int rows)
{
    for (const char *at = sizes; at != NULL && *at != '\0';) {
        char *end;
        if (strtol(at, &end, 10) == rows && end != at)
            return true;
        at = strchr(at, ',');
        at = at != NULL ? at + 1 : NULL;
    }
    return sizes == NULL;
}

static bg_status check_selected(const bg__piece *piece, bg__fusion *run)
{
    bool (*applies)(int rows) = run->rule->attributes_.applies;
    const bg_capture *capture = piece->capture;
    int size = capture->rows > 0 ? capture->rows : run->rows;

    if (!is_selected(piece->compiled, run))
        return bg__fusion_set_state(run, BG_FUSION_OFF, "BG_COMPILE_OPS excludes it");
    if (applies != NULL && capture->level == BG_LEVEL_ONCE)
        return bg__fusion_set_state(run, BG_FUSION_OFF,
                                    "the rule is specialised for shapes, which level 2 does not use");
    if (applies != NULL && !lists_size(capture->options.compile_sizes, size))
        return bg__fusion_set_state(run, BG_FUSION_OFF, "compile_sizes does not list %d", size);
    if (applies != NULL && !applies(run->rows))
        return bg__fusion_set_state(run, BG_FUSION_OFF, "the rule does not apply to %d rows", run->rows);
    return BG_OK;
}

/* ---- finding ---- */

static bool matches_rule(const bg_rule *rule, bg__call *const *calls, int count)
{
    if (rule->count > count)
        return false;
    for (int i = 0; i < rule->count; i++)
        if (calls[i]->op != rule->calls[i])
            return false;
    return true;
}

static bg_status add_fusion(const bg__piece *piece, const bg_rule *rule, bg__call *const *calls)
{
    bg__compiled *compiled = piece->compiled;
    bg__fusion *run;
    bg_status status;

    BG__TRY(BG__ARRAY_GROW(compiled->runs, compiled->run_count, compiled->run_capacity, "runs of calls"));
    run = &compiled->runs[compiled->run_count];
    *run = (bg__fusion){.rule = rule,
                        .calls = calls,
                        .site = calls[0]->site,
                        .state = BG_FUSION_FITS,
                        .segment = piece->capture->graph->segment_count,
                        .name = make_fusion_name(rule, calls),
                        .op = strdup(rule->op->name)};
    compiled->run_count++;
    if (run->name == NULL || run->op == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for runs of calls");
    run->number = (*fusion_counter(compiled, rule))++;
done:
    return status;
}

bg_status bg__fusions_find(const bg__piece *piece)
{
    const bg_capture *capture = piece->capture;
    const bg__compiled *compiled = piece->compiled;
    bg_status status = BG_OK;

    for (int i = 0; i < capture->inlined_count; i++)
        for (int r = 0; r < compiled->rule_count; r++)
            if (matches_rule(&compiled->rules[r], capture->inlined + i, capture->inlined_count - i))
                BG__TRY(add_fusion(piece, &compiled->rules[r], capture->inlined + i));
done:
    return status;
}

static bg_status check_fusion(const bg__piece *piece, bg__fusion *run)
{
    bg_status status;

    BG__TRY(check_call_positions(run));
    if (bg__fusion_is_candidate(run))
        BG__TRY(check_chain(piece, run));
    if (bg__fusion_is_candidate(run) && piece->memory)
        BG__TRY(bg__fusion_set_state(run, BG_FUSION_REFUSED,
                                     "the segment has allocation nodes, and CUDA removes no nodes from such a graph"));
    if (bg__fusion_is_candidate(run))
        BG__TRY(check_arguments(piece, run));
    if (bg__fusion_is_candidate(run))
        BG__TRY(check_selected(piece, run));
    if (bg__fusion_is_candidate(run))
        BG__TRY(bg__verdict_find_or_add(run, piece));
done:
    return status;
}

bg_status bg__fusions_check(const bg__piece *piece)
{
    bg__compiled *compiled = piece->compiled;
    bg_status status = BG_OK;

    for (int i = piece->first_run; i < compiled->run_count; i++)
        BG__TRY(check_fusion(piece, &compiled->runs[i]));
done:
    return status;
}

/* ---- ranks ---- */

static void print_fusions(const bg__piece *piece, FILE *out)
{
    const bg__compiled *compiled = piece->compiled;
    fprintf(out, "the runs of calls that rules stand for, at level %d: ", compiled->info.level);
    for (int i = piece->first_run; i < compiled->run_count; i++)
        fprintf(out, "%s%s", i > piece->first_run ? ", " : "", compiled->runs[i].name);
}

bg_status bg__fusions_agree(const bg__piece *piece)
{
    char brief[600], *text = NULL;
    size_t bytes;
    bg_status status;
    FILE *out;

    if (!piece->capture->graph->ranks.there)
        return BG_OK;
    out = open_memstream(&text, &bytes);
    if (out != NULL)
        print_fusions(piece, out);
    if (out == NULL || fclose(out) != 0) {
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the rules of a segment");
        goto done;
    }
    bg__shorten_with_digest(text, brief, sizeof brief);
    status = bg__capture_agree(piece->capture, brief);
done:
    free(text);
    return status;
}

bg_status bg__fusion_agree_on_use(bg__ranks *ranks, bg__fusion *run)
{
    bool closed = !bg__fusion_is_candidate(run);
    bg_status status;

    BG__TRY(bg__ranks_any(ranks, run->name, &closed));
    if (closed && bg__fusion_is_candidate(run))
        BG__TRY(bg__fusion_set_state(run, BG_FUSION_REFUSED, "another rank does not use this rule"));
done:
    return status;
}

/* ---- choosing ---- */

bg_status bg__fusion_drop_known(bg__fusion *run)
{
    const bg__proof_outcome finding = bg__verdict_read(run->verdict);
    return finding.known && finding.state != BG_FUSION_APPLIED
               ? bg__fusion_set_state(run, finding.state, "%s", finding.why)
               : BG_OK;
}

/* Prefers this capture's results: first this run's own, then that of a run with the same verdict. The stored verdict
 * comes last, since other threads that prove the same rule may change it. */
static bg__proof_outcome find_proof_outcome(const bg__compiled *compiled, const bg__fusion *run)
{
    if (run->found != NULL)
        return *run->found;
    for (int i = 0; i < compiled->run_count; i++)
        if (compiled->runs[i].found != NULL && compiled->runs[i].verdict == run->verdict)
            return *compiled->runs[i].found;
    return bg__verdict_read(run->verdict);
}

static bg_status apply_proof_outcome(const bg__compiled *compiled, bg__fusion *run)
{
    bg__proof_outcome finding = find_proof_outcome(compiled, run);

    run->proven = finding.known && finding.state == BG_FUSION_APPLIED;
    run->calls_us = finding.calls_us;
    run->op_us = finding.op_us;
    if (compiled->prove == BG__PROVE_OFF || run->proven)
        return BG_OK;
    if (!finding.known)
        return bg__fusion_set_state(run, BG_FUSION_UNPROVEN, "%s",
                                    finding.why[0] != '\0' ? finding.why
                                                           : "nothing was launched at capture, so there was no data "
                                                             "to prove it with");
    return bg__fusion_set_state(run, finding.state, "%s", finding.why);
}

static bg_status claim_nodes(bg__fusion *run, bool *taken)
{
    for (size_t i = run->first; i < run->end; i++)
        if (taken[i])
            return bg__fusion_set_state(run, BG_FUSION_COVERED,
                                        "a rule with more calls already replaces some of its calls");
    for (size_t i = run->first; i < run->end; i++)
        taken[i] = true;
    run->state = BG_FUSION_APPLIED;
    return BG_OK;
}

bg_status bg__fusions_choose(const bg__piece *piece)
{
    bg__compiled *compiled = piece->compiled;
    bool *taken = calloc(piece->count + 1, sizeof *taken);
    bg_status status = BG_OK;

    if (taken == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu nodes", piece->count);
    for (int r = 0; r < compiled->rule_count; r++)
        for (int i = piece->first_run; i < compiled->run_count; i++) {
            bg__fusion *run = &compiled->runs[i];
            if (run->rule != &compiled->rules[r])
                continue;
            if (bg__fusion_is_candidate(run))
                BG__TRY(apply_proof_outcome(compiled, run));
            BG__TRY(bg__fusion_agree_on_use(&piece->capture->graph->ranks, run));
            if (bg__fusion_is_candidate(run))
                BG__TRY(claim_nodes(run, taken));
        }
done:
    free(taken);
    return status;
}
