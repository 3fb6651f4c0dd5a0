/* Which calls a program's graphs hold, and which of them a pattern means. */
#include "bisect.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NEAR = 5, LONGEST = 128 };

/* ---- patterns, as bg_override_eager has them ---- */

static bool glob(const char *pattern, size_t length, const char *text, size_t text_length)
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

/* One part of a path: "rope", "rope#*" against "rope#3". */
static bool part_matches(const char *pattern, size_t length, const char *part, size_t part_length)
{
    const char *hash = memchr(part, '#', part_length);
    if (memchr(pattern, '#', length) == NULL && hash != NULL)
        part_length = (size_t)(hash - part);
    return glob(pattern, length, part, part_length);
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
static bool list_matches(const char *list, const char *call)
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

static int depth_of(const char *name)
{
    int depth = 0;
    for (; *name != '\0'; name++)
        depth += *name == '/';
    return depth;
}

static int find(const cJSON *calls, const char *name)
{
    const cJSON *call;
    int i = 0;
    cJSON_ArrayForEach(call, calls)
    {
        if (strcmp(cli_text(call, "name"), name) == 0)
            return i;
        i++;
    }
    return -1;
}

static cJSON *copy_of(const cJSON *call)
{
    cJSON *copy = cJSON_CreateObject();
    if (copy != NULL && cJSON_AddStringToObject(copy, "name", cli_text(call, "name")) &&
        cJSON_AddStringToObject(copy, "op", cli_text(call, "op")) &&
        cJSON_AddStringToObject(copy, "file", cli_text(call, "file")) &&
        cJSON_AddNumberToObject(copy, "line", cli_number(call, "line")))
        return copy;
    cJSON_Delete(copy);
    return NULL;
}

/* cJSON_InsertItemInArray refuses all places but the first and the last in Debian 12's 1.7.15-1+deb12u4. */
static void link_before(cJSON *list, cJSON *next, cJSON *item)
{
    item->next = next;
    item->prev = next->prev; /* the first one's is the last one */
    next->prev = item;
    if (list->child == next)
        list->child = item;
    else
        item->prev->next = item;
}

/* Behind the call before it in its own pass, and behind what that has inside; where that is. -1: no host memory. */
static int insert(cJSON *calls, int at, const cJSON *call)
{
    int depth = depth_of(cli_text(call, "name"));
    cJSON *copy = copy_of(call);
    cJSON *next = cJSON_GetArrayItem(calls, at);
    for (; next != NULL && depth_of(cli_text(next, "name")) > depth; next = next->next)
        at++;
    if (copy == NULL)
        return -1;
    if (next != NULL)
        link_before(calls, next, copy);
    else
        (void)cJSON_AddItemToArray(calls, copy); /* both are there, and not the same */
    return at;
}

static bool add_graph(cJSON *calls, const cJSON *graph)
{
    const cJSON *outline = cJSON_GetObjectItemCaseSensitive(graph, "outline"), *call;
    int at = 0;
    cJSON_ArrayForEach(call, cJSON_GetObjectItemCaseSensitive(outline, "calls"))
    {
        const char *name = cli_text(call, "name");
        int known;
        if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(call, "eager")) || name[0] == '\0')
            continue;
        known = find(calls, name);
        at = known < 0 ? insert(calls, at, call) : known;
        if (at++ < 0)
            return false;
    }
    return true;
}

/* ---- names that were meant ---- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Levenshtein's: insertions, deletions and replacements from a to b. */
static size_t distance(const char *a, size_t a_length, const char *b)
{
    size_t row[LONGEST + 1], b_length = strlen(b);
    if (b_length > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 0; i < a_length; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b_length; j++) {
            size_t replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = least(replaced, least(row[j], row[j + 1]) + 1);
        }
    }
    return row[b_length];
}

static size_t distance_to(const char *pattern, const cJSON *call)
{
    const char *last = strrchr(pattern, '/'), *op = last != NULL ? last + 1 : pattern;
    return least(distance(pattern, strlen(pattern), cli_text(call, "name")),
                 distance(op, strcspn(op, "#,"), cli_text(call, "op")));
}

static cli_status refuse(const char *only, const cJSON *calls)
{
    char near[512] = "";
    size_t used = 0, shown = 0;
    for (size_t far = 0; far <= strlen(only) / 2 + 1 && shown < NEAR; far++) {
        const cJSON *call;
        cJSON_ArrayForEach(call, calls)
        {
            const char *name = cli_text(call, "name");
            if (distance_to(only, call) == far && shown < NEAR && used + strlen(name) + 3 < sizeof near) {
                used += (size_t)snprintf(near + used, sizeof near - used, "%s%s", shown > 0 ? ", " : "", name);
                shown++;
            }
        }
    }
    if (shown == 0)
        return cli_say(CLI_NO_MATCH, "--only=%s matches none of the %d captured calls", only,
                       cJSON_GetArraySize(calls));
    return cli_say(CLI_NO_MATCH, "--only=%s matches none of the %d captured calls; near: %s", only,
                   cJSON_GetArraySize(calls), near);
}

cli_status cli_calls_collect(const cli_gathered *gathered, const char *only, cJSON *calls)
{
    const cJSON *graph, *call;
    cJSON *all = cJSON_CreateArray();
    cli_status status = CLI_OK;

    cJSON_ArrayForEach(graph, gathered->captured)
    {
        if (!add_graph(all, graph))
            status = cli_say(CLI_FAILED, "no host memory");
    }
    if (status == CLI_OK) {
        cJSON_ArrayForEach(call, all)
        {
            if (only == NULL || list_matches(only, cli_text(call, "name")))
                cJSON_AddItemToArray(calls, cJSON_Duplicate(call, true));
        }
        if (cJSON_GetArraySize(all) == 0)
            status = cli_say(CLI_NO_MATCH, "no op call is in the program's graphs: mark what it captures with BG_OP");
        else if (only != NULL && cJSON_GetArraySize(calls) == 0)
            status = refuse(only, all);
    }
    cJSON_Delete(all);
    return status;
}
