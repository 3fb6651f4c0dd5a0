/* Proposes schedules for the runners of a report, from the batches that they have run. */
#include <stdlib.h>
#include <string.h>

#include "debug/files/json.h"
#include "report.h"
#include "report_data.h"
#include "debug/report/runners/runner_mix.h"

/* PERCENT: the recommended schedule computes at most that many percent more rows than the best one. LENGTHS: the
 * maximum number of sizes that is tried, unless the schedule in use is longer, up to LENGTHS_MOST. */
enum { PERCENT = 5, LENGTHS = 64, LENGTHS_MOST = 512 };

/* The data from which the schedules of one runner are chosen. */
typedef struct proposal {
    const bg__runner_group *group;
    const cJSON *row; /* the first row of the group */
    bg__size_mix mix;
    bg__size_choices choices;
    int *now; /* sizes of the schedule in use */
    size_t now_count;
    bg__size_cost now_cost;
    uint64_t wanted;    /* the minimum number of batches that the recommended schedule runs by a graph */
    int *sizes;         /* room for the longest schedule */
    size_t recommended; /* length of the recommended schedule; 0: the schedule in use */
    bool none_is_good;  /* no schedule is recommended */
    cJSON *list;
} proposal;

static uint64_t computed_rows(const bg__size_cost *cost)
{
    return cost->rows + cost->padding_rows;
}

static bg__size_cost cost_of_length(const proposal *p, size_t length)
{
    bg__sizes_schedule(&p->choices, length, p->sizes);
    return bg__sizes_cost(&p->mix, p->sizes, length);
}

/* ---- the schedule in use ---- */

static bg_status read_current_sizes(proposal *p)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(p->row, "sizes"), *item;

    p->now = malloc(((size_t)cJSON_GetArraySize(list) + 1) * sizeof *p->now);
    if (p->now == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a schedule");
    cJSON_ArrayForEach(item, list)
    {
        int last = p->now_count > 0 ? p->now[p->now_count - 1] : 0;
        if (cJSON_IsNumber(item) && item->valuedouble > last && item->valuedouble <= p->mix.max_tokens)
            p->now[p->now_count++] = (int)item->valuedouble;
    }
    p->now_cost = bg__sizes_cost(&p->mix, p->now, p->now_count);
    return BG_OK;
}

/* ---- the recommended one ---- */

static uint64_t count_batches(const bg__size_mix *mix)
{
    uint64_t batches = 0;
    for (size_t f = 0; f < mix->count; f++)
        for (size_t i = 0; i < mix->families[f].count; i++)
            batches += mix->families[f].list[i].batches;
    return batches;
}

/* As many batches as now, but not more than `cover` percent of all. */
static uint64_t batches_wanted(const proposal *p, double cover)
{
    uint64_t asked = (uint64_t)((double)count_batches(&p->mix) * cover / 100);
    return p->now_cost.batches < asked ? p->now_cost.batches : asked;
}

static bool is_good_schedule(const proposal *p, const bg__size_cost *cost, const bg__size_cost *best)
{
    return cost->batches >= best->batches && cost->batches >= p->wanted &&
           (double)computed_rows(cost) <= (double)computed_rows(best) * (100 + PERCENT) / 100 &&
           (cost->padding_rows <= p->now_cost.padding_rows || p->now_cost.batches < cost->batches);
}

/* Recommends the shortest good schedule. It must be within PERCENT of the longest schedule tried, and run as many
 * batches as now. If the schedule in use runs as many batches, the new one must not pad more. The schedule in use may
 * be longer than the longest one tried, or suit max_padding better. With max_padding a shorter schedule may run fewer
 * batches by a graph: it pads less, but is not better. */
static void recommend_schedule(proposal *p)
{
    const bg__size_cost best = cost_of_length(p, p->choices.most);
    bg__size_cost cost = cost_of_length(p, 1);

    p->recommended = 1;
    while (p->recommended < p->choices.most && !is_good_schedule(p, &cost, &best))
        cost = cost_of_length(p, ++p->recommended);
    p->none_is_good = !is_good_schedule(p, &cost, &best);
    if (p->none_is_good || (p->now_count <= p->recommended && p->now_cost.batches >= cost.batches &&
                            p->now_cost.padding_rows <= cost.padding_rows))
        p->recommended = 0;
}

/* ---- the list ---- */

static bool add_schedule(proposal *p, const int *sizes, size_t count, bool now, bool recommended)
{
    const bg__size_cost cost = bg__sizes_cost(&p->mix, sizes, count);
    const bg__size_need need = bg__runner_estimate_need(p->row, &p->mix, sizes, count);
    cJSON *item = bg__json_add_object(p->list), *list = item != NULL ? cJSON_CreateIntArray(sizes, (int)count) : NULL;
    bool good = list != NULL && cJSON_AddItemToObject(item, "sizes", list);

    good = good && (!now || cJSON_AddTrueToObject(item, "now") != NULL);
    good = good && (!recommended || cJSON_AddTrueToObject(item, "recommended") != NULL);
    good = good && cJSON_AddNumberToObject(item, "buckets", (double)need.buckets) &&
           cJSON_AddNumberToObject(item, "batches", (double)cost.batches) &&
           cJSON_AddNumberToObject(item, "rows", (double)cost.rows) &&
           cJSON_AddNumberToObject(item, "padding_rows", (double)cost.padding_rows);
    return good && cJSON_AddNumberToObject(item, "pool_bytes", need.pool_bytes) &&
           cJSON_AddNumberToObject(item, "graph_bytes", need.graph_bytes) &&
           cJSON_AddNumberToObject(item, "capture_ms", need.capture_ms);
}

/* Whether the list shows this length: powers of two, the schedule in use, the recommended one, and the longest. */
static bool is_shown_length(const proposal *p, size_t length)
{
    return (length & (length - 1)) == 0 || length == p->now_count || length == p->recommended ||
           length == p->choices.most;
}

static bool add_schedules(proposal *p)
{
    bool good = add_schedule(p, p->now, p->now_count, true, p->recommended == 0 && !p->none_is_good);
    for (size_t length = 1; length <= p->choices.most && good; length++) {
        if (!is_shown_length(p, length))
            continue;
        bg__sizes_schedule(&p->choices, length, p->sizes);
        bg__sizes_round_up(&p->mix, p->sizes, length);
        good = add_schedule(p, p->sizes, length, false, length == p->recommended);
    }
    return good;
}

static bg_status choose_schedules(proposal *p, double cover)
{
    bg_status status;
    size_t most = LENGTHS;

    for (size_t i = 0; i < p->group->count; i++)
        if (!bg__runner_row_is_valid(p->group->rows[i]))
            BG__FAIL(BG_ERROR_IO, "the report's %.40s has numbers that breakgraph does not write",
                     bg__json_string(p->row, "name"));
    BG__TRY(bg__runner_mix_read(p->group, &p->mix));
    BG__TRY(read_current_sizes(p));
    if (p->now_count > most)
        most = p->now_count < LENGTHS_MOST ? p->now_count : LENGTHS_MOST;
    BG__TRY(bg__sizes_choose(&p->mix, cover, most, &p->choices));
    p->sizes = malloc(p->choices.most * sizeof *p->sizes);
    if (p->sizes == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a schedule");
    p->wanted = batches_wanted(p, cover);
    recommend_schedule(p);
done:
    return status;
}

static const char *no_schedule_reason(const cJSON *row)
{
    if (strcmp(bg__json_string(row, "mode"), "none") == 0)
        return "the runner has mode none, which has no buckets; choose another mode";
    if (bg__json_number(row, "batches") < 1)
        return "no batch has run yet";
    return "all batches ran eagerly for other reasons than their size";
}

static bg_status write_proposal(proposal *p, double cover, cJSON *object)
{
    p->list = cJSON_AddArrayToObject(object, "list");
    if (p->list != NULL && cJSON_AddNumberToObject(object, "cover", cover) &&
        cJSON_AddNumberToObject(object, "percent", PERCENT) &&
        cJSON_AddNumberToObject(object, "longest", (double)p->choices.most) &&
        cJSON_AddNumberToObject(object, "batches", (double)count_batches(&p->mix)) && add_schedules(p))
        return BG_OK;
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for schedules");
}

/* Writes an error of one row into that row, and continues with the others. */
static bg_status propose_for_runner(cJSON *row, const bg__runner_group *group, double cover)
{
    proposal p = {.group = group, .row = row};
    cJSON *object = cJSON_AddObjectToObject(row, "schedules");
    bg_status status = choose_schedules(&p, cover);

    if (status == BG_OK)
        status = write_proposal(&p, cover, object);
    else if (cJSON_AddStringToObject(object, "why",
                                     status == BG_ERROR_NOT_FOUND ? no_schedule_reason(row) : bg_last_error()))
        status = BG_OK;
    bg__sizes_free(&p.choices);
    bg__runner_mix_free(&p.mix);
    free(p.now);
    free(p.sizes);
    return status;
}

bg_status bg_report_propose_schedules(bg_report *report, double cover)
{
    cJSON *rows, *row;
    bg__runner_group *groups = NULL;
    size_t count = 0, g = 0;
    bg_status status;

    BG__NEED(report);
    if (!(cover > 0 && cover <= 100))
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "bg_report_propose_schedules: cover is %g; allowed are numbers above 0, up to 100", cover);
    rows = cJSON_GetObjectItemCaseSensitive(report->parts, "runners");
    if (cJSON_GetArraySize(rows) == 0)
        return bg__fail(BG_ERROR_NOT_FOUND, "bg_report_propose_schedules: the report has no runner");
    BG__TRY(bg__runner_groups_make(rows, &groups, &count));
    cJSON_ArrayForEach(row, rows)
    {
        cJSON_DeleteItemFromObjectCaseSensitive(row, "schedules");
        if (g < count && row == groups[g].rows[0])
            BG__TRY(propose_for_runner(row, &groups[g++], cover));
    }
done:
    free(groups);
    return status;
}
