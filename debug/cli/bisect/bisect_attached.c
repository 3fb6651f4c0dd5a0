/* Finds the node B that must run outside of its graph for a fault to vanish, and the node A that B must come after or
 * not run beside.
 *
 * Nodes outside of their graphs are launched one after the other, in the order of the calls of b, which is an order
 * that the graph allows. A and B have no order between them, which causes the fault; A comes first in the list. The
 * fault vanishes if B is outside. It stays if only A is outside. So the search finds the shortest end of the list with
 * which the program is good: B is the first node of this end.
 *
 * Then the search finds A. If all nodes are outside, and B comes before all that it does not depend on, the program is
 * bad, whatever the GPU's timing is. The program is good again if the beginning of the list up to A also comes before
 * B: A is the last node of the shortest such beginning. If the program is not bad with B first, the fault is that A and
 * B run at the same time: then A is the last node of the shortest beginning that must be outside. */
#include "bisect_attached.h"

#include <breakgraph/breakgraph.h>
#include <stdlib.h>
#include <string.h>

#include "debug/cli/output/cli_json.h"
#include "bisect_nodes.h"
#include "trial.h"

enum { PARTNERS = 4 }; /* with more culprits, the other node is not searched */

static const cJSON *get_call(const cli_bisection *b, size_t index)
{
    return cJSON_GetArrayItem(b->calls, (int)index);
}

/* ---- the trials before the search ------------------------------------------------------------------------------- */

static void mark_range(const cli_bisection *b, bool *marks, size_t from, size_t to)
{
    for (size_t i = 0; i < b->name_count; i++)
        marks[i] = i >= from && i < to;
}

/* No node was launched outside, so this says nothing about the fault. */
static cli_status end_without_nodes(cli_bisection *b)
{
    return cli_bisect_set_sentence(
        b, CLI_UNJUDGED,
        "none of the %zu nodes of '%s' can be launched outside of its graph: breakgraph run --attach --nodes says "
        "why",
        b->name_count, b->argv[0]);
}

static cli_status end_unchanged(cli_bisection *b)
{
    const char *but =
        cli_json_number(b->root, "not_split") > 0 ? ", but for those that breakgraph run --attach --nodes names," : "";
    return cli_bisect_set_sentence(
        b, CLI_STAYS,
        "the fault remains with all nodes%s launched outside of their graphs, one after the other: the values or "
        "addresses in the graphs are wrong, not the order of their nodes; or the fault is in no graph",
        but);
}

static cli_status try_all_outside(cli_bisection *b, bool *marks)
{
    bg_verdict verdict = BG_SKIP;
    cli_status status;

    mark_range(b, marks, 0, b->name_count);
    status = cli_trial_run(b, CLI_ALL_EAGER, marks, &verdict);
    if (status != CLI_OK)
        return status;
    if (cli_json_number(b->root, "outside") == 0)
        return end_without_nodes(b);
    if (verdict == BG_BAD)
        return end_unchanged(b);
    if (verdict == BG_SKIP)
        return cli_bisect_set_sentence(b, CLI_UNJUDGED, "with all nodes outside of their graphs, '%s' cannot be judged",
                                       b->argv[0]);
    return CLI_OK;
}

/* ---- the culprits ----------------------------------------------------------------------------------------------- */

typedef struct search_state {
    cli_bisection *b;
    const char **names; /* from the last to the first */
    bool *marks;
    cli_status status;
} search_state;

static bg_status try_candidates(void *user, const char *const *names, size_t count, bg_verdict *verdict)
{
    search_state *s = user;
    size_t given = 0;

    for (size_t i = 0; i < s->b->name_count; i++) {
        bool is = given < count && s->names[i] == names[given];
        s->marks[s->b->name_count - 1 - i] = is;
        given += is;
    }
    s->status = cli_trial_run(s->b, CLI_SEARCH, s->marks, verdict);
    return s->status == CLI_OK ? BG_OK : BG_ERROR_STOPPED;
}

/* Turns indices of the reversed list into those of the calls. */
static void restore_call_order(cli_bisection *b)
{
    for (size_t i = 0; i < b->found; i++)
        b->culprits[i] = b->name_count - 1 - b->culprits[i];
    for (size_t i = 0; i < b->found / 2; i++) {
        size_t first = b->culprits[i];
        b->culprits[i] = b->culprits[b->found - 1 - i];
        b->culprits[b->found - 1 - i] = first;
    }
}

/* bg_search finds short beginnings of a list: from the reversed list it finds ends. */
static cli_status find_culprits(cli_bisection *b, bool *marks)
{
    search_state s = {b, calloc(b->name_count + 1, sizeof *s.names), marks, CLI_OK};
    bg_status searched = BG_ERROR_OUT_OF_MEMORY;

    b->culprits = calloc(b->name_count + 1, sizeof *b->culprits);
    for (size_t i = 0; s.names != NULL && i < b->name_count; i++)
        s.names[i] = b->names[b->name_count - 1 - i];
    if (s.names != NULL && b->culprits != NULL)
        searched = bg_search(s.names, b->name_count, try_candidates, &s, b->culprits, &b->found);
    free(s.names);
    if (searched == BG_OK) {
        restore_call_order(b);
        return CLI_OK;
    }
    b->found = 0;
    return s.status != CLI_OK ? s.status : cli_print_message(CLI_FAILED, "%s", bg_status_text(searched));
}

/* ---- the node that each must come after ------------------------------------------------------------------------- */

/* The search for the node that one culprit must come after. Its trials share marks. */
typedef struct partner_search {
    cli_bisection *b;
    bool *marks;
    size_t culprit;
    bool first; /* all are outside, the beginning and the culprit before the others; else only the beginning and the
                 * other culprits are outside */
} partner_search;

/* Marks the culprit, and the nodes that the culprits before it must come after. */
static void mark_partners(const partner_search *s)
{
    s->marks[s->b->culprits[s->culprit]] = true;
    for (size_t i = 0; i < s->culprit; i++) {
        const cJSON *behind = cJSON_GetObjectItemCaseSensitive(get_call(s->b, s->b->culprits[i]), "behind");
        if (behind != NULL)
            s->marks[(size_t)behind->valuedouble] = true;
    }
}

static void mark_others(const partner_search *s)
{
    for (size_t i = 0; i < s->b->found; i++)
        if (i != s->culprit)
            s->marks[s->b->culprits[i]] = true;
}

static cli_status try_beginning(const partner_search *s, cli_trial_purpose why, size_t length, bg_verdict *verdict)
{
    mark_range(s->b, s->marks, 0, length);
    if (s->first)
        mark_partners(s);
    else
        mark_others(s);
    *verdict = BG_SKIP;
    return s->first ? cli_trial_run_first(s->b, why, s->marks, verdict) : cli_trial_run(s->b, why, s->marks, verdict);
}

/* Finds the shortest beginning with which the program is good. *last: its last node. *known: it was found. */
static cli_status find_beginning(const partner_search *s, size_t *last, bool *known)
{
    size_t bad = 0, good = s->b->culprits[s->culprit] + 1;
    cli_status status = CLI_OK;

    *known = true;
    while (status == CLI_OK && good - bad > 1 && *known) {
        size_t middle = bad + (good - bad) / 2;
        bg_verdict verdict;
        status = try_beginning(s, CLI_SEARCH, middle, &verdict);
        *known = verdict != BG_SKIP;
        *(verdict == BG_GOOD ? &good : &bad) = middle;
    }
    *last = good - 1;
    return status;
}

static cli_status retry_beginning(const partner_search *s, size_t length, bg_verdict wanted, bool *is)
{
    bg_verdict verdict;
    cli_status status = try_beginning(s, CLI_CONFIRM, length, &verdict);
    *is = *is && verdict == wanted;
    return status;
}

static void record_partner(const partner_search *s, size_t partner)
{
    const cli_bisection *b = s->b;
    size_t at = b->culprits[s->culprit];
    cJSON *call = cJSON_GetArrayItem(b->calls, (int)at);
    bool same = strcmp(cli_json_text(get_call(b, partner), "graph"), cli_json_text(call, "graph")) == 0;

    if (partner == at)
        return; /* no other node has to do with it */
    cJSON_AddNumberToObject(call, "behind", (double)partner);
    cJSON_AddBoolToObject(call, "ordered", same && cli_nodes_are_ordered(b, partner, at));
    if (s->first)
        cJSON_AddTrueToObject(call, "bad_first");
}

static void clear_partners(const cli_bisection *b)
{
    for (size_t i = 0; i < b->found; i++) {
        cJSON *call = cJSON_GetArrayItem(b->calls, (int)b->culprits[i]);
        cJSON_DeleteItemFromObjectCaseSensitive(call, "behind");
        cJSON_DeleteItemFromObjectCaseSensitive(call, "ordered");
        cJSON_DeleteItemFromObjectCaseSensitive(call, "bad_first");
    }
}

/* Repeats the trials on both sides of the result: if the fault by chance did not show in one, the result is a wrong
 * node. */
static cli_status find_partner(cli_bisection *b, bool *marks, size_t culprit)
{
    partner_search s = {b, marks, culprit, .first = true};
    bg_verdict verdict;
    size_t last = 0;
    bool known;
    cli_status status = try_beginning(&s, CLI_SEARCH, 0, &verdict);

    if (status != CLI_OK)
        return status;
    s.first = verdict == BG_BAD;
    status = find_beginning(&s, &last, &known);
    if (status == CLI_OK && known && last > 0)
        status = retry_beginning(&s, last, BG_BAD, &known);
    if (status == CLI_OK && known)
        status = retry_beginning(&s, last + 1, BG_GOOD, &known);
    if (status == CLI_OK && known)
        record_partner(&s, last);
    return status;
}

/* Ends the bisect if the graph itself orders a culprit after the node that was found for it. No way of launching
 * changes this order, so the nodes outside have changed the order of other nodes. */
static cli_status reject_ordered(cli_bisection *b)
{
    for (size_t i = 0; i < b->found; i++) {
        const cJSON *call = get_call(b, b->culprits[i]);
        const cJSON *behind = cJSON_GetObjectItemCaseSensitive(call, "behind");
        if (behind == NULL || !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(call, "ordered")) ||
            cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(call, "bad_first")) ||
            cli_nodes_may_be_early(b, (size_t)behind->valuedouble, b->culprits[i]))
            continue;
        return cli_bisect_set_sentence(
            b, CLI_NONDETERMINISTIC,
            "no culprit can be named: the fault vanishes with %s outside of the graph, but the graph already orders "
            "it after the nodes that it must follow; so the order of other nodes decides: a race, or sums by "
            "atomics, which may have any order. breakgraph check --attach --what=orders names nodes whose order "
            "changes the result, and tells the two apart",
            cli_json_text(call, "name"));
    }
    return CLI_OK;
}

/* ---- the confirmation ------------------------------------------------------------------------------------------- */

static void mark_culprits(const cli_bisection *b, bool *marks)
{
    mark_range(b, marks, 0, 0);
    for (size_t i = 0; i < b->found; i++)
        marks[b->culprits[i]] = true;
}

/* Runs the program with the culprits outside, and also the nodes that they must come after, since a run reports only
 * the stacks of nodes outside. The verdict does not count: with both outside, what comes after these nodes has no order
 * with what comes after the culprits. */
static cli_status collect_partner_stacks(cli_bisection *b, bool *marks)
{
    bg_verdict verdict;
    size_t partners = 0;

    mark_culprits(b, marks);
    for (size_t i = 0; i < b->found; i++) {
        const cJSON *behind = cJSON_GetObjectItemCaseSensitive(get_call(b, b->culprits[i]), "behind");
        if (behind == NULL || behind->valuedouble >= (double)b->name_count)
            continue;
        marks[(size_t)behind->valuedouble] = true;
        partners++;
    }
    return partners > 0 ? cli_trial_run(b, CLI_CONFIRM, marks, &verdict) : CLI_OK;
}

static cli_status confirm_culprits(cli_bisection *b, bool *marks)
{
    int good = 0;

    mark_culprits(b, marks);
    for (int i = 0; i < CLI_CONFIRMATIONS; i++) {
        bg_verdict verdict = BG_SKIP;
        cli_status status = cli_trial_run(b, CLI_CONFIRM, marks, &verdict);
        if (status != CLI_OK)
            return status;
        good += verdict == BG_GOOD;
    }
    b->searched = true;
    b->confirmed = good == CLI_CONFIRMATIONS;
    if (b->confirmed)
        return CLI_FAILED;
    return cli_bisect_set_sentence(
        b, CLI_NONDETERMINISTIC,
        "not confirmed: good in %d of %d trials with %s%s outside of the graph, as where a fault shows only "
        "sometimes: run the program more often in each trial with --count=N",
        good, CLI_CONFIRMATIONS, b->names[b->culprits[0]], b->found > 1 ? " and others" : "");
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static cli_status search_culprits(cli_bisection *b, bool *marks)
{
    cli_status status = find_culprits(b, marks);

    if (status == CLI_OK)
        clear_partners(b); /* of a search that was interrupted */
    for (size_t i = 0; status == CLI_OK && i < b->found && b->found <= PARTNERS; i++)
        status = find_partner(b, marks, i);
    if (status == CLI_OK)
        status = reject_ordered(b);
    if (status == CLI_OK)
        status = collect_partner_stacks(b, marks);
    return status == CLI_OK ? confirm_culprits(b, marks) : status;
}

cli_status cli_attached_search(cli_bisection *b)
{
    bool bad = false, *marks;
    cli_status status = cli_trial_run_twice(b, CLI_AS_IS, &bad);

    if (status != CLI_OK)
        return status;
    if (!bad)
        return cli_bisect_set_sentence(
            b, CLI_OK, "'%s' was good in both trials as it is: there is no fault to search for", b->argv[0]);
    marks = calloc(b->name_count + 1, sizeof *marks);
    if (marks == NULL)
        return cli_print_message(CLI_FAILED, "out of host memory");
    b->wanted = (int)b->next + 1 + 2 * cli_bisect_log2(b->name_count) + 2 + 2 + 1 + CLI_CONFIRMATIONS;
    status = try_all_outside(b, marks);
    if (status == CLI_OK)
        status = search_culprits(b, marks);
    free(marks);
    return status;
}
