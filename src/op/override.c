/* Which ops are eager, by pattern: "attention,moe_*,rope#3,!sample_*". */
#include "op/op.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct pattern {
    const char *text; /* into override.text, ended by a comma or the end */
    size_t length;
    bool negate;
    bool exact; /* the name of one call: "attention#0/rope#1" */
} pattern;

struct bg__override {
    bool breakable;
    char *text;
    pattern *patterns;
    int count, own_count, first_of_environment, first_forced; /* own: of the capture's options */
    /* Indices of patterns. A bisect passes ten thousand names, too many to try one after the other for each call. */
    int *exact, *others; /* by name, then by index; by index */
    int exact_count, other_count;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *program_list; /* bg_override_eager's, or NULL */
static _Thread_local const char *forced_list;

/* ---- parsing ---- */

/* One part of a path: a name with '*', then perhaps '#' and a number or '*'. */
static bool path_part_is_valid(const char *part, size_t length)
{
    const char *hash = memchr(part, '#', length);
    size_t name = hash ? (size_t)(hash - part) : length;
    if (name == 0)
        return false;
    for (size_t i = 0; i < name; i++)
        if (!isalnum((unsigned char)part[i]) && part[i] != '_' && part[i] != '*')
            return false;
    if (hash == NULL)
        return true;
    if (name + 1 == length)
        return false;
    for (size_t i = name + 1; i < length; i++)
        if (!isdigit((unsigned char)part[i]) && part[i] != '*')
            return false;
    return part[name + 1] != '0' || name + 2 == length; /* "#03" would match nothing */
}

static bool pattern_is_valid(const pattern *p)
{
    const char *part = p->text, *end = p->text + p->length;
    for (;;) {
        const char *slash = memchr(part, '/', (size_t)(end - part));
        if (!path_part_is_valid(part, (size_t)((slash ? slash : end) - part)))
            return false;
        if (slash == NULL)
            return true;
        part = slash + 1;
    }
}

/* Whether only one call has that name: it has no '*', and each part has its number. */
static bool pattern_is_exact(const pattern *p)
{
    const char *part = p->text, *end = p->text + p->length;
    if (memchr(p->text, '*', p->length) != NULL)
        return false;
    for (;;) {
        const char *slash = memchr(part, '/', (size_t)(end - part));
        if (memchr(part, '#', (size_t)((slash ? slash : end) - part)) == NULL)
            return false;
        if (slash == NULL)
            return true;
        part = slash + 1;
    }
}

/* Ignores empty items and blank lines. */
static bg_status add_pattern(bg__override *override, const char *text, size_t length, const char *from)
{
    pattern *p = &override->patterns[override->count];
    while (length > 0 && isspace((unsigned char)*text)) {
        text++;
        length--;
    }
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    if (length == 0)
        return BG_OK;
    p->negate = *text == '!';
    p->text = text + p->negate;
    p->length = length - p->negate;
    if (!pattern_is_valid(p))
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "%s: \"%.*s\" is not a pattern; write op names or paths like attention#0/rope#1 with commas "
                        "between, '*' for any characters, '!' before one to capture it",
                        from, (int)length, text);
    p->exact = pattern_is_exact(p);
    override->count++;
    return BG_OK;
}

static bg_status add_patterns(bg__override *override, const char *list, const char *from)
{
    for (;;) {
        const char *comma = strchr(list, ',');
        size_t length = comma ? (size_t)(comma - list) : strlen(list);
        bg_status status = add_pattern(override, list, length, from);
        if (status != BG_OK || comma == NULL)
            return status;
        list = comma + 1;
    }
}

static size_t count_commas(const char *text)
{
    size_t commas = 0;
    for (; *text; text++)
        commas += *text == ',';
    return commas;
}

static int compare_names(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_patterns(const void *a, const void *b, void *patterns)
{
    int i = *(const int *)a, j = *(const int *)b;
    const pattern *x = (pattern *)patterns + i, *y = (pattern *)patterns + j;
    int order = compare_names(x->text, x->length, y->text, y->length);
    return order != 0 ? order : i - j;
}

static bg_status sort_patterns(bg__override *override)
{
    override->exact = malloc(((size_t) override->count + 1) * sizeof *override->exact);
    override->others = malloc(((size_t) override->count + 1) * sizeof *override->others);
    if (override->exact == NULL || override->others == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for eager patterns");
    for (int i = 0; i < override->count; i++)
        if (override->patterns[i].exact)
            override->exact[override->exact_count++] = i;
        else
            override->others[override->other_count++] = i;
    qsort_r(override->exact, (size_t) override->exact_count, sizeof *override->exact, compare_patterns,
            override->patterns);
    return BG_OK;
}

typedef struct pattern_source {
    const char *list; /* may be NULL or empty */
    const char *name;
} pattern_source;
enum { OWN, PROGRAM, ENVIRONMENT, FORCED, SOURCES };

/* An override of all lists, in their order. */
static bg_status make_override(bg__override **result, const pattern_source sources[SOURCES])
{
    bg_status status = BG_OK;
    bg__override *override = calloc(1, sizeof *override);
    size_t bytes = 0, patterns = 0;
    char *text;

    for (int i = 0; i < SOURCES; i++) {
        const char *list = sources[i].list ? sources[i].list : "";
        bytes += strlen(list) + 1;
        patterns += count_commas(list) + 1;
    }
    if (override != NULL) {
        override->breakable = true;
        override->text = malloc(bytes);
        override->patterns = calloc(patterns, sizeof *override->patterns);
    }
    if (override == NULL || override->text == NULL || override->patterns == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for eager patterns");
    text = override->text;
    for (int i = 0; i < SOURCES; i++) {
        const char *list = sources[i].list ? sources[i].list : "";
        memcpy(text, list, strlen(list) + 1);
        if (i == PROGRAM)
            override->own_count = override->count;
        if (i == ENVIRONMENT)
            override->first_of_environment = override->count;
        if (i == FORCED)
            override->first_forced = override->count;
        if (text[0] != '\0')
            BG__TRY(add_patterns(override, text, sources[i].name));
        text += strlen(list) + 1;
    }
    BG__TRY(sort_patterns(override));
    *result = override;
    override = NULL;
done:
    bg__override_free(override);
    return status;
}

bg_status bg__override_check_list(const char *list, const char *from)
{
    bg__override *checked = NULL;
    bg_status status = BG_OK;
    if (list != NULL && list[0] != '\0')
        status = make_override(&checked, (pattern_source[SOURCES]){[OWN] = {list, from}});
    bg__override_free(checked);
    return status;
}

bg_status bg_override_eager(const char *list)
{
    bg_status status = BG_OK;
    char *copy = NULL;

    if (list != NULL && list[0] != '\0') {
        BG__TRY(bg__override_check_list(list, "bg_override_eager"));
        copy = strdup(list);
        if (copy == NULL)
            BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "bg_override_eager: out of host memory");
    }
    pthread_mutex_lock(&mutex);
    free(program_list);
    program_list = copy;
    pthread_mutex_unlock(&mutex);
done:
    return status;
}

/* ---- use ---- */

/* Whether this is the first warning about p in this process, which may make many passes. */
static bool is_first_warning(const pattern *p)
{
    static char **warned;
    static size_t count, capacity;
    bool first = true;

    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < count && first; i++)
        first = strncmp(warned[i], p->text, p->length) != 0 || warned[i][p->length] != '\0';
    if (first && BG__ARRAY_GROW(warned, count, capacity, "warnings") == BG_OK) {
        warned[count] = strndup(p->text, p->length);
        count += warned[count] != NULL;
    }
    pthread_mutex_unlock(&mutex);
    return first;
}

/* Without the warning, a misspelt name in the environment would silently do nothing. Ops without a macro exist only
 * after their first call. */
void bg__override_warn_unmatched(const bg__override *override)
{
    bg__nearest nearest;
    char hint[BG__HINT_BYTES];
    for (int i = override->first_of_environment; i < override->first_forced; i++) {
        const pattern *p = &override->patterns[i];
        const char *part = p->text + p->length, *hash;
        size_t length;
        while (part > p->text && part[-1] != '/')
            part--;
        length = p->length - (size_t)(part - p->text);
        hash = memchr(part, '#', length);
        length = hash != NULL ? (size_t)(hash - part) : length;
        if (bg__op_any_matches(part, length) || !is_first_warning(p))
            continue;
        nearest = bg__nearest_begin(part, length);
        bg__nearest_add_ops(&nearest);
        bg__warn("BG_EAGER_OPS: \"%.*s\" matches no registered op%s", (int)p->length, p->text,
                 bg__nearest_hint(&nearest, "", hint));
    }
}

void bg__override_set_forced(const char *list)
{
    forced_list = list;
}

static void replace_newlines(char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '\n')
            *text = ',';
}

enum { LIST_BYTES = 16 << 20 }; /* larger than any list of ops */

bg_status bg__override_read_list(const char *path, char **list)
{
    size_t bytes = 0;
    bg_status status;

    BG__TRY(bg__file_read(path, true, LIST_BYTES, list, &bytes));
    if (bytes > LIST_BYTES)
        return bg__fail(BG_ERROR_IO, "the list of ops in %s is larger than %d MiB; write a shorter list", path,
                        LIST_BYTES >> 20);
    replace_newlines(*list);
done:
    return status;
}

bg_status bg__override_create(bg__override **override, const char *own)
{
    const char *environment = getenv("BG_EAGER_OPS");
    char *list = NULL;
    pattern_source sources[SOURCES] = {
        [OWN] = {own, "options.eager_ops"}, [FORCED] = {forced_list, "a debugging tool"}};
    bg_status status;
    bool breakable;

    *override = NULL;
    BG__TRY(bg__env_flag("BG_BREAKABLE", &breakable));
    if (environment != NULL && environment[0] == '@') {
        status = bg__override_read_list(environment + 1, &list);
        if (status != BG_OK) {
            bg__error_add_location("BG_EAGER_OPS");
            goto done;
        }
        environment = list;
    }
    sources[ENVIRONMENT] = (pattern_source){environment, "BG_EAGER_OPS"};
    pthread_mutex_lock(&mutex);
    sources[PROGRAM] = (pattern_source){program_list, "bg_override_eager"};
    status = make_override(override, sources);
    if (status == BG_OK)
        (*override)->breakable = breakable;
    pthread_mutex_unlock(&mutex);
done:
    free(list);
    return status;
}

void bg__override_free(bg__override *override)
{
    if (override == NULL)
        return;
    free(override->exact);
    free(override->others);
    free(override->patterns);
    free(override->text);
    free(override);
}

bg_status bg__override_format(const bg__override *override, char **text)
{
    static const char inlined[] = "BG_BREAKABLE=0, ";
    size_t bytes = sizeof inlined;
    char *end;

    for (int i = 0; i < override->count; i++)
        bytes += override->patterns[i].length + 2;
    *text = end = malloc(bytes);
    if (end == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for eager patterns");
    end = stpcpy(end, override->breakable ? "" : inlined);
    for (int i = 0; i < override->count; i++) {
        const pattern *p = &override->patterns[i];
        end = stpcpy(end, p->negate ? "!" : "");
        end = mempcpy(end, p->text, p->length);
        *end++ = i + 1 < override->count ? ',' : '\0';
    }
    *end = '\0';
    return BG_OK;
}

bool bg__override_is_own_only(const bg__override *override)
{
    return override->breakable && override->count == override->own_count;
}

bool bg__override_allows_breaks(const bg__override *override)
{
    return override->breakable;
}

static bool path_part_matches(const char *part, size_t length, const bg__call *call)
{
    const char *hash = memchr(part, '#', length);
    char index[16];
    size_t digits = sizeof index;

    if (!bg__glob_matches(part, hash ? (size_t)(hash - part) : length, call->op->name))
        return false;
    if (hash == NULL)
        return true;
    index[--digits] = '\0';
    for (unsigned rest = call->index; digits == sizeof index - 1 || rest > 0; rest /= 10)
        index[--digits] = (char)('0' + rest % 10);
    return bg__glob_matches(hash + 1, length - (size_t)(hash + 1 - part), index + digits);
}

bool bg__call_matches(const bg__call *call, const char *pattern, size_t length)
{
    const char *end = pattern + length;
    bool bare = memchr(pattern, '/', length) == NULL && memchr(pattern, '#', length) == NULL;

    if (bare)
        return path_part_matches(pattern, length, call);
    /* From the last part up to the root, which has no op. */
    for (;;) {
        const char *part = end;
        while (part > pattern && part[-1] != '/')
            part--;
        if (call->op == NULL || !path_part_matches(part, (size_t)(end - part), call))
            return false;
        call = call->parent;
        if (part == pattern)
            return call->op == NULL;
        end = part - 1;
    }
}

/* Returns the index of the last pattern that is the call's name; -1: none. */
static int find_exact_pattern(const bg__override *override, const bg__call *call)
{
    size_t length = override->exact_count > 0 ? strlen(call->name) : 0;
    int low = 0, high = override->exact_count;

    while (low < high) {
        int middle = low + (high - low) / 2;
        const pattern *p = &override->patterns[override->exact[middle]];
        if (compare_names(p->text, p->length, call->name, length) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0) {
        const pattern *p = &override->patterns[override->exact[low - 1]];
        if (compare_names(p->text, p->length, call->name, length) == 0)
            return override->exact[low - 1];
    }
    return -1;
}

/* Returns the index of the last matching pattern after `above` that is not exact; `above` if there is none. */
static int find_inexact_pattern(const bg__override *override, const bg__call *call, int above)
{
    for (int i = override->other_count; i-- > 0 && override->others[i] > above;) {
        const pattern *p = &override->patterns[override->others[i]];
        if (bg__call_matches(call, p->text, p->length))
            return override->others[i];
    }
    return above;
}

static __attribute__((noinline)) bool apply_patterns(const bg__override *override, const bg__call *call, bool fallback)
{
    int last = find_inexact_pattern(override, call, find_exact_pattern(override, call));
    if (last >= (override->breakable ? 0 : override->first_forced))
        return !override->patterns[last].negate;
    return fallback && override->breakable;
}

bool bg__override_is_eager(const bg__override *override, const bg__call *call, bool fallback)
{
    if (override->count > 0)
        return apply_patterns(override, call, fallback);
    return fallback && override->breakable;
}
