/* The sizes and query lengths to capture, by a named rule or a list. */
#include "runner/config.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* From size `from` on, sizes grow by `by`; 0: they double. */
typedef struct step {
    int from, by;
} step;

typedef struct rule {
    const char *name;
    step steps[8]; /* ascending; the first `from` is the first size; by < 0 ends the list */
} rule;

/* sglang: SGLang's sizes for graphs of prefills. atom: ATOM's default sizes. vllm: vLLM's default sizes. */
static const rule schedule_rules[] = {
    {"sglang", {{4, 4}, {32, 16}, {256, 32}, {512, 64}, {1024, 256}, {4096, 512}, {0, -1}}},
    {"atom", {{1, 1}, {2, 2}, {4, 4}, {8, 8}, {16, 16}, {0, -1}}},
    {"vllm", {{1, 1}, {2, 2}, {4, 4}, {8, 8}, {256, 16}, {0, -1}}},
    {"powers", {{1, 0}, {0, -1}}},
};
static int next_size(const rule *rule, int size)
{
    int by = 0;
    for (const step *step = rule->steps; step->by >= 0 && step->from <= size; step++)
        by = step->by;
    return size + (by > 0 ? by : size);
}

static const rule *find_schedule_rule(const char *name)
{
    for (size_t i = 0; i < sizeof schedule_rules / sizeof *schedule_rules; i++)
        if (strcmp(schedule_rules[i].name, name) == 0)
            return &schedule_rules[i];
    return NULL;
}

/* Writes the sizes of a rule, and how many there are; sizes NULL: only counts them. */
static bg_status make_rule_sizes(const rule *rule, int max_tokens, int *sizes, int *count)
{
    int first = rule->steps[0].from;
    *count = 0;
    if (max_tokens < first)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "max_tokens is %d, below %d, the first size of schedule \"%s\"; raise it, or list the sizes",
                        max_tokens, first, rule->name);
    for (int size = first; size <= max_tokens; size = next_size(rule, size)) {
        if (sizes != NULL)
            sizes[*count] = size;
        ++*count;
    }
    return BG_OK;
}

/* ---- lists ---- */

/* An element of a list, up to a comma or the end. */
typedef struct element {
    const char *text; /* without the spaces around it */
    int length;
    int index;        /* from 1 */
    const char *next; /* the element after it; NULL: none */
} element;

static element parse_element(const char *text, int index)
{
    size_t length = strcspn(text, ",");
    element e = {.index = index, .next = text[length] == ',' ? text + length + 1 : NULL};
    while (length > 0 && isspace((unsigned char)*text)) {
        text++;
        length--;
    }
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    e.text = text;
    e.length = length < INT_MAX ? (int)length : INT_MAX;
    return e;
}

/* The names of a list in errors. */
typedef struct words {
    const char *key, *variable;
} words;

static const words schedule_words = {"schedule", "BG_RUNNER_SCHEDULE"},
                   query_lens_words = {"max_query_len", "BG_RUNNER_MAX_QUERY_LEN"},
                   compile_sizes_words = {"compile_sizes", "BG_RUNNER_COMPILE_SIZES"};

static const char *allowed_values(const words *words)
{
    return bg__variable_find(words->variable)->allowed;
}

static bg_status refuse_element(const words *words, const element *e, const char *what)
{
    return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: element %d, \"%.*s\", %s; allowed are %s", words->key, e->index,
                    e->length < 40 ? e->length : 40, e->text, what, allowed_values(words));
}

static bg_status refuse_schedule(const char *what)
{
    return bg__fail(BG_ERROR_INVALID_ARGUMENT, "schedule is %s; allowed are %s", what, allowed_values(&schedule_words));
}

/* Parses the element; numbers above INT_MAX become INT_MAX. */
static bg_status read_element_number(const words *words, const element *e, int *number)
{
    int sign = e->length > 1 && e->text[0] == '-', i = sign;
    *number = 0;
    if (e->length == 0)
        return refuse_element(words, e, "is empty");
    for (; i < e->length && isdigit((unsigned char)e->text[i]); i++)
        *number = *number > (INT_MAX - 9) / 10 ? INT_MAX : *number * 10 + (e->text[i] - '0');
    if (i < e->length)
        return refuse_element(words, e, "is not a whole number");
    if (sign || *number == 0)
        return refuse_element(words, e, "is not positive");
    return BG_OK;
}

static bg_status parse_list(const words *words, const char *list, int max_tokens, int *sizes, int *count)
{
    int last = 0;
    *count = 0;
    for (const char *text = list; text != NULL;) {
        element e = parse_element(text, *count + 1);
        int number;
        bg_status status = read_element_number(words, &e, &number);
        if (status != BG_OK)
            return status;
        if (number > max_tokens)
            return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                            "%s: element %d, \"%.*s\", is above max_tokens, %d; raise max_tokens or drop the element",
                            words->key, e.index, e.length < 40 ? e.length : 40, e.text, max_tokens);
        if (number == last)
            return refuse_element(words, &e, "repeats the one before it");
        if (number < last)
            return refuse_element(words, &e, "is below the one before it");
        if (sizes != NULL)
            sizes[*count] = number;
        ++*count;
        last = number;
        text = e.next;
    }
    return BG_OK;
}

/* ---- both ---- */

static bg_status refuse_name(const char *schedule)
{
    bg__nearest nearest = bg__nearest_begin(schedule, strlen(schedule));
    char hint[BG__HINT_BYTES];
    for (size_t i = 0; i < sizeof schedule_rules / sizeof *schedule_rules; i++)
        bg__nearest_add(&nearest, schedule_rules[i].name, strlen(schedule_rules[i].name));
    return bg__fail(BG_ERROR_INVALID_ARGUMENT, "schedule is \"%.40s\"%s; allowed are %s", schedule,
                    bg__nearest_hint(&nearest, "", hint), allowed_values(&schedule_words));
}

static bg_status parse_schedule(const char *schedule, int max_tokens, int *sizes, int *count)
{
    const rule *rule;
    const char *text = schedule;

    *count = 0;
    if (schedule == NULL)
        return refuse_schedule("NULL");
    while (isspace((unsigned char)*text))
        text++;
    if (*text == '\0')
        return refuse_schedule("empty");
    if (max_tokens < 1)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "max_tokens is %d; allowed are 1 to %d", max_tokens, BG__TOKENS_MAX);
    rule = find_schedule_rule(schedule);
    if (rule != NULL)
        return make_rule_sizes(rule, max_tokens, sizes, count);
    if (strchr(schedule, ',') == NULL && !isdigit((unsigned char)*text) && *text != '-')
        return refuse_name(schedule);
    return parse_list(&schedule_words, schedule, max_tokens, sizes, count);
}

bg_status bg__schedule_check(const char *schedule, int max_tokens)
{
    int count;
    return parse_schedule(schedule, max_tokens, NULL, &count);
}

bg_status bg__schedule_make(const char *schedule, int max_tokens, int **sizes, int *count)
{
    bg_status status;

    *sizes = NULL;
    *count = 0;
    BG__TRY(parse_schedule(schedule, max_tokens, NULL, count));
    *sizes = calloc((size_t)*count + 1, sizeof **sizes);
    if (*sizes == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a schedule of %d sizes", *count);
    BG__TRY(parse_schedule(schedule, max_tokens, *sizes, count));
done:
    if (status != BG_OK)
        *count = 0;
    return status;
}

/* ---- query lengths ---- */

bg_status bg__query_lens_check(const char *list, int max_tokens)
{
    int count;
    return parse_list(&query_lens_words, list, max_tokens, NULL, &count);
}

bg_status bg__compile_sizes_check(const char *list)
{
    int count;
    return strcmp(list, "schedule") == 0 ? BG_OK : parse_list(&compile_sizes_words, list, BG__TOKENS_MAX, NULL, &count);
}

bg_status bg__query_lens_make(const bg_runner_config *config, int **lens, int *count)
{
    bg_status status = BG_OK;

    *lens = NULL;
    *count = 1;
    if (config->query_lens != NULL)
        BG__TRY(parse_list(&query_lens_words, config->query_lens, config->max_tokens, NULL, count));
    *lens = malloc((size_t)*count * sizeof **lens);
    if (*lens == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %d query lengths", *count);
    if (config->query_lens != NULL)
        BG__TRY(parse_list(&query_lens_words, config->query_lens, config->max_tokens, *lens, count));
    else
        **lens = config->max_query_len;
done:
    return status;
}
