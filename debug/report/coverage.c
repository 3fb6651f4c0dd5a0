#include "coverage.h"

#include "debug/files/json.h"

#include <stdatomic.h>

/* The maximum number of rows in "not_checked": a program may capture very many graphs. */
enum { ROWS = 100 };

static cJSON *check_counts, *not_checked;
static atomic_ulong compared_replays;

static cJSON *get_or_add_member(cJSON **object, const char *name)
{
    cJSON *member;
    if (*object == NULL)
        *object = cJSON_CreateObject();
    member = cJSON_GetObjectItemCaseSensitive(*object, name);
    return member != NULL ? member : cJSON_AddObjectToObject(*object, name);
}

static void add_to_number(cJSON *object, const char *name, double by)
{
    cJSON *number = cJSON_GetObjectItemCaseSensitive(object, name);
    if (number != NULL)
        cJSON_SetNumberValue(number, number->valuedouble + by);
    else
        cJSON_AddNumberToObject(object, name, by);
}

void bg__coverage_add_graph(const char *check, size_t calls, size_t nodes)
{
    cJSON *member = get_or_add_member(&check_counts, check);
    add_to_number(member, "graphs", 1);
    add_to_number(member, "calls", (double)calls);
    add_to_number(member, "nodes", (double)nodes);
}

void bg__coverage_add_stepped_replay(const double counts[BG__STEP_COUNTS])
{
    static const char *const names[BG__STEP_COUNTS] = {"nodes", "calls", "elements", "whole", "skipped"};
    cJSON *member = get_or_add_member(&check_counts, "step");
    add_to_number(member, "replays", 1);
    for (int i = 0; i < BG__STEP_COUNTS; i++)
        add_to_number(member, names[i], counts[i]);
}

void bg__coverage_add_unchecked(const char *check, const char *graph, const char *why)
{
    cJSON *row;
    if (not_checked == NULL)
        not_checked = cJSON_CreateArray();
    if (cJSON_GetArraySize(not_checked) >= ROWS)
        return;
    row = bg__json_add_object(not_checked);
    cJSON_AddStringToObject(row, "check", check);
    cJSON_AddStringToObject(row, "graph", graph);
    cJSON_AddStringToObject(row, "why", why);
}

void bg__coverage_count_replay(void)
{
    atomic_fetch_add_explicit(&compared_replays, 1, memory_order_relaxed);
}

void bg__coverage_reset(void)
{
    check_counts = not_checked = NULL;
    atomic_store(&compared_replays, 0);
}

static void print_member(const char *name, const cJSON *value, FILE *out)
{
    char *text = value != NULL ? bg__json_text(value, false) : NULL;
    if (text != NULL)
        fprintf(out, ", \"%s\": %s", name, text);
    cJSON_free(text);
}

void bg__coverage_print(FILE *out)
{
    unsigned long compared = atomic_load_explicit(&compared_replays, memory_order_relaxed);
    if (compared > 0) {
        cJSON *member = get_or_add_member(&check_counts, "replay");
        cJSON_DeleteItemFromObjectCaseSensitive(member, "replays");
        cJSON_AddNumberToObject(member, "replays", (double)compared);
    }
    print_member("checks", check_counts, out);
    print_member("not_checked", not_checked, out);
}
