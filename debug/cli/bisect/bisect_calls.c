#include "bisect_calls.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "debug/cli/output/cli_json.h"

enum { NEAR = 5 }; /* names that a message lists */

/* ---- patterns, as bg_override_eager has them ---- */

static bool matches_glob(const char *pattern, size_t length, const char *text, size_t text_length)
{
    size_t p = 0, t = 0, star = length, resume = 0;
    while (t < text_length) {
        if (p < length && pattern[p] == '*') {
            star = p++;
            resume = t;
        } else if (p < length && pattern[p] == text[t]) {
            p++;
            t++;
        } else if (star < length) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    while (p < length && pattern[p] == '*')
        p++;
    return p == length;
}

/* Matches one part of a path: "rope", "rope#*" against "rope#3". */
static bool part_matches(const char *pattern, size_t length, const char *part, size_t part_length)
{
    const char *hash = memchr(part, '#', part_length);
    if (memchr(pattern, '#', length) == NULL && hash != NULL)
        part_length = (size_t)(hash - part);
    return matches_glob(pattern, length, part, part_length);
}

static bool pattern_matches(const char *pattern, size_t length, const char *call)
{
    const char *last = strrchr(call, '/'), *end = pattern + length;
    if (memchr(pattern, '/', length) == NULL && memchr(pattern, '#', length) == NULL) {
        last = last != NULL ? last + 1 : call;
        return part_matches(pattern, length, last, strlen(last));
    }
    for (;;) {
        const char *slash = memchr(pattern, '/', (size_t)(end - pattern));
        size_t part = strcspn(call, "/"), pattern_part = (size_t)((slash != NULL ? slash : end) - pattern);
        if (!part_matches(pattern, pattern_part, call, part) || (slash != NULL) != (call[part] == '/'))
            return false;
        if (slash == NULL)
            return true;
        pattern = slash + 1;
        call += part + 1;
    }
}

/* The last pattern that matches decides. */
bool cli_calls_match(const char *list, const char *call)
{
    bool matches = false;
    while (*list != '\0') {
        size_t length = strcspn(list, ",");
        const char *from = list, *to = list + length;
        bool negate;
        while (from < to && isspace((unsigned char)*from))
            from++;
        while (to > from && isspace((unsigned char)to[-1]))
            to--;
        negate = from < to && *from == '!';
        from += negate;
        if (pattern_matches(from, (size_t)(to - from), call))
            matches = !negate;
        list += length + (list[length] == ',');
    }
    return matches;
}

/* ---- the calls of several graphs ---- */

/* Members of reports, in order of the pass. */
typedef struct call_list {
    const cJSON **calls;
    size_t count, capacity;
} call_list;

static const char *listed_call_name(const cJSON *call)
{
    return cli_json_text(call, "name");
}

static int call_depth(const cJSON *call)
{
    int depth = 0;
    for (const char *c = listed_call_name(call); *c != '\0'; c++)
        depth += *c == '/';
    return depth;
}

/* Returns the index of the call in the list; if the list does not have it, the list's count. */
static size_t find_listed_call(const call_list *list, const cJSON *call)
{
    size_t i = 0;
    while (i < list->count && strcmp(listed_call_name(list->calls[i]), listed_call_name(call)) != 0)
        i++;
    return i;
}

/* Inserts the call at *at. If deeper calls begin there (those inside the preceding call), it goes after them. Stores
 * its index in *at. */
static bool insert_listed_call(call_list *list, size_t *at, const cJSON *call)
{
    int depth = call_depth(call);
    if (BG__ARRAY_GROW(list->calls, list->count, list->capacity, "calls") != BG_OK)
        return false;
    while (*at < list->count && call_depth(list->calls[*at]) > depth)
        (*at)++;
    memmove(list->calls + *at + 1, list->calls + *at, (list->count - *at) * sizeof *list->calls);
    list->calls[*at] = call;
    list->count++;
    return true;
}

static bool is_captured(const cJSON *call)
{
    return listed_call_name(call)[0] != '\0' && !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(call, "eager"));
}

/* Inserts a call that other graphs do not have after the one before it; if no call is known, all come at the end. */
static bool add_graph_calls(call_list *list, const cJSON *graph)
{
    const cJSON *outline = cJSON_GetObjectItemCaseSensitive(graph, "outline");
    const cJSON *calls = cJSON_GetObjectItemCaseSensitive(outline, "calls"), *call;
    size_t at = list->count, known;

    cJSON_ArrayForEach(call, calls)
    {
        if (is_captured(call) && find_listed_call(list, call) < list->count)
            at = 0;
    }
    cJSON_ArrayForEach(call, calls)
    {
        if (!is_captured(call))
            continue;
        known = find_listed_call(list, call);
        if (known < list->count)
            at = known;
        else if (!insert_listed_call(list, &at, call))
            return false;
        at++;
    }
    return true;
}

static bool add_copy(cJSON *calls, const cJSON *call)
{
    cJSON *copy = cJSON_CreateObject();
    if (copy != NULL && cJSON_AddStringToObject(copy, "name", listed_call_name(call)) &&
        cJSON_AddStringToObject(copy, "op", cli_json_text(call, "op")) &&
        cJSON_AddStringToObject(copy, "file", cli_json_text(call, "file")) &&
        cJSON_AddNumberToObject(copy, "line", cli_json_number(call, "line")) && cJSON_AddItemToArray(calls, copy))
        return true;
    cJSON_Delete(copy);
    return false;
}

/* ---- similar names ---- */

static size_t edit_distance_to(const char *pattern, const cJSON *call)
{
    const char *last = strrchr(pattern, '/'), *op = last != NULL ? last + 1 : pattern;
    const char *name = cli_json_text(call, "name"), *op_name = cli_json_text(call, "op");
    size_t to_name = bg__edit_distance(pattern, strlen(pattern), name, strlen(name));
    size_t to_op = bg__edit_distance(op, strcspn(op, "#,"), op_name, strlen(op_name));
    return to_name < to_op ? to_name : to_op;
}

static cli_status reject_only(const char *only, const call_list *all)
{
    char near[512] = "";
    size_t used = 0, shown = 0;
    for (size_t far = 0; far <= strlen(only) / 2 + 1 && shown < NEAR; far++)
        for (size_t i = 0; i < all->count && shown < NEAR; i++) {
            const char *name = listed_call_name(all->calls[i]);
            if (edit_distance_to(only, all->calls[i]) != far || used + strlen(name) + 9 > sizeof near)
                continue;
            used += (size_t)snprintf(near + used, sizeof near - used, "%s%s", shown > 0 ? ", " : "; near: ", name);
            shown++;
        }
    return cli_print_message(CLI_NO_MATCH, "--only=%s matches none of the %zu captured calls%s", only, all->count,
                             near);
}

static cli_status choose_calls(const call_list *all, const char *only, cJSON *calls)
{
    for (size_t i = 0; i < all->count; i++)
        if ((only == NULL || cli_calls_match(only, listed_call_name(all->calls[i]))) && !add_copy(calls, all->calls[i]))
            return cli_print_message(CLI_FAILED, "out of host memory");
    if (all->count == 0)
        return cli_print_message(CLI_NO_MATCH,
                                 "the program's graphs hold no op call: mark captured functions with BG_OP");
    return only != NULL && cJSON_GetArraySize(calls) == 0 ? reject_only(only, all) : CLI_OK;
}

cli_status cli_calls_collect(const cli_gathered *gathered, const char *only, cJSON *calls)
{
    const cJSON *graph;
    call_list all = {0};
    cli_status status = CLI_OK;

    cJSON_ArrayForEach(graph, gathered->captured)
    {
        if (status == CLI_OK && !add_graph_calls(&all, graph))
            status = cli_print_message(CLI_FAILED, "out of host memory");
    }
    if (status == CLI_OK)
        status = choose_calls(&all, only, calls);
    free(all.calls);
    return status;
}
