/* What probes tell: findings, and a row for each. */
#include "probes.h"

#include <stdio.h>
#include <string.h>

#include "debug/files/json.h"

/* ---- launches --------------------------------------------------------------------------------------------------- */

static bool is_told(const bg__probes *p, const bg__probe *probe)
{
    return probe->call != NULL ? bg__report_has_finding(p->attached->report, "nan-seen", probe->name) : probe->nan > 0;
}

static void report_nan(const bg__probes *p, const bg__probe *probe, const bgk_probe *now)
{
    static const char *const formats[] = {"f32", "f64", "f16", "bf16"};
    if (is_told(p, probe))
        return;
    bg__report_add(
        p->attached->report, "nan-seen", BG_WARNING, probe->call, (const void *)probe->begin,
        "probe the nodes before it, too; breakgraph step --attach finds where NaN come from, if they come there, too",
        "%s left %llu NaN and %llu infinities of type %s in the %zu bytes from %p, in launch %llu of the graph: of "
        "the nodes that are probed it is the first one with NaN in that launch",
        probe->name, now->nan, now->inf, formats[probe->format], probe->end - probe->begin, (const void *)probe->begin,
        p->before + p->read + 1);
}

static void report_difference(const bg__probes *p, const bg__probe *probe)
{
    bg__report_add(
        p->attached->report, "mismatch-origin", BG_WARNING, probe->call, (const void *)probe->begin,
        "breakgraph check --attach --what=orders finds which of the nodes lack an order",
        "%s left other bytes in launch %llu of the graph than where its nodes ran one after the other from the same "
        "memory, in the %zu bytes from %p: of the nodes that are probed it is the first one",
        probe->name, p->before + 1, probe->end - probe->begin, (const void *)probe->begin);
}

static bool is_comparable(const bg__probes *p, const bg__probe *probe)
{
    return !p->partial && probe->mixed == NULL && !probe->unstable;
}

static unsigned long long count_over(unsigned long long now, unsigned long long before)
{
    return now > before ? now - before : 0;
}

static void read_launch(bg__probes *p, const bgk_probe *row)
{
    bool nan = false, differs = false;
    for (size_t i = 0; i < p->count; i++) {
        bg__probe *probe = &p->list[i];
        bgk_probe now = {row[i].digest, count_over(row[i].nan, probe->other.nan),
                         count_over(row[i].inf, probe->other.inf)};
        if (now.nan > 0 && !nan)
            report_nan(p, probe, &now);
        if (p->read == 0 && is_comparable(p, probe) && now.digest != probe->alone.digest && !differs)
            report_difference(p, probe);
        nan |= now.nan > 0;
        differs |= is_comparable(p, probe) && now.digest != probe->alone.digest;
        probe->changes += p->read > 0 && now.digest != probe->last.digest;
        probe->nan += now.nan > 0;
        probe->inf += now.inf > 0;
        probe->last = now;
    }
}

void bg__probes_read(bg__probes *p)
{
    unsigned long long told = bg__probes_told(p);
    if (told - p->read > BG__PROBE_ROWS) {
        p->lost += told - BG__PROBE_ROWS - p->read;
        p->read = told - BG__PROBE_ROWS;
    }
    for (; p->read < told; p->read++)
        read_launch(p, p->ring + p->read % BG__PROBE_ROWS * p->count);
}

/* ---- rows of the report ----------------------------------------------------------------------------------------- */

/* Which of the probes of that name it is. */
static int place_of(const bg__probes *p, size_t index)
{
    int place = 0;
    for (size_t i = 0; i < index; i++)
        place += strcmp(p->list[i].name, p->list[index].name) == 0;
    return place;
}

static bool is_row_of(const cJSON *row, const char *name, int place)
{
    return row != NULL && strcmp(bg__json_string(row, "node"), name) == 0 &&
           (int)bg__json_number(row, "place") == place;
}

/* That of the same node's probe before the graph was updated; most often the one at the same index. NULL: none. */
static cJSON *find_row(cJSON *rows, const char *name, int place, size_t index)
{
    cJSON *row = cJSON_GetArrayItem(rows, (int)index);

    if (is_row_of(row, name, place))
        return row;
    cJSON_ArrayForEach(row, rows)
    {
        if (is_row_of(row, name, place))
            return row;
    }
    return NULL;
}

static cJSON *add_row(cJSON *rows, const bg__probes *p, const char *name, int place)
{
    cJSON *row = bg__json_add_object(rows);
    cJSON_AddStringToObject(row, "graph", bg__graph_name(p->attached->graph));
    cJSON_AddStringToObject(row, "node", name);
    cJSON_AddNumberToObject(row, "place", place);
    return row;
}

static void set_text(cJSON *row, const char *name, const char *text)
{
    cJSON_DeleteItemFromObjectCaseSensitive(row, name);
    cJSON_AddStringToObject(row, name, text);
}

static void add_number(cJSON *row, const char *name, unsigned long long number)
{
    double before = bg__json_number(row, name);
    cJSON_DeleteItemFromObjectCaseSensitive(row, name);
    cJSON_AddNumberToObject(row, name, before + (double)number);
}

static void list_probe(const bg__probes *p, size_t index, cJSON *row)
{
    const bg__probe *probe = &p->list[index];
    char digest[20], range[60];

    snprintf(digest, sizeof digest, "%016llx", probe->last.digest);
    snprintf(range, sizeof range, "%p+%zu", (const void *)probe->begin, probe->end - probe->begin);
    set_text(row, "range", range);
    add_number(row, "launches", p->read - p->lost);
    add_number(row, "not_read", p->launched - p->read + p->lost);
    add_number(row, "changes", probe->changes);
    add_number(row, "nan", probe->nan);
    add_number(row, "inf", probe->inf);
    if (p->read > 0 || bg__json_string(row, "digest")[0] == '\0')
        set_text(row, "digest", digest);
    set_text(row, "not_counted",
             probe->mixed != NULL             ? probe->mixed
             : probe->format == BGK_NO_FLOATS ? "the type is unknown"
                                              : "");
}

void bg__probes_list(const bg__probes *p)
{
    cJSON *rows = bg__report_part(p->attached->report, "probes"), *row;
    bool first = rows != NULL && rows->child == NULL;

    for (size_t i = 0; rows != NULL && i < p->count; i++) {
        const char *name = p->list[i].name;
        int place = place_of(p, i);
        row = first ? NULL : find_row(rows, name, place, i);
        list_probe(p, i, row != NULL ? row : add_row(rows, p, name, place));
    }
}
