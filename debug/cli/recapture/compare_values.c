#include "compare_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "debug/memory/value_text.h"
#include "closest.h"
#include "debug/cli/output/cli_json.h"

/* ---- one value -------------------------------------------------------------------------------------------------- */

/* "00..ff@0:3+16,8:4+0": the bytes; at byte 0 an address, which is byte 16 of owner 3; and so on */
typedef struct value {
    const char *hex, *owners; /* owners: the text after "@", or "" */
    size_t bytes;
    const cli_run_process *process;
    const cli_run_graph *graph;
} value;

/* The memory that an address is in, and the offset there. */
typedef struct place {
    const cJSON *owner; /* NULL: the word is a number */
    unsigned long long offset;
    bool own; /* the graph's thread made the memory */
} place;

static value parse_value(const cJSON *text, const cli_run_process *process, const cli_run_graph *graph)
{
    const char *hex = cJSON_GetStringValue(text);
    size_t length;

    hex = hex != NULL ? hex : "";
    length = strspn(hex, "0123456789abcdef");
    return (value){hex, hex[length] == '@' ? hex + length + 1 : "", length / 2, process, graph};
}

static void read_bytes(const value *v, size_t at, size_t count, unsigned char *to)
{
    for (size_t i = 0; i < count; i++) {
        char digits[3] = {v->hex[2 * (at + i)], v->hex[2 * (at + i) + 1], '\0'};
        to[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
}

static place find_place(const value *v, size_t at)
{
    const char *text = v->owners;
    unsigned long long where, owner, offset;
    int length;

    while (sscanf(text, "%llu:%llu+%llu%n", &where, &owner, &offset, &length) == 3) {
        if (where == at && owner < v->process->owner_count)
            return (place){v->process->owners[owner], offset,
                           cli_is_own_memory(v->graph->row, v->process->owners[owner])};
        text += length + (text[length] == ',');
    }
    return (place){.owner = NULL};
}

/* ---- addresses -------------------------------------------------------------------------------------------------- */

typedef struct value_comparison {
    const value *values[2];
    const char *what; /* "kernel parameter 2" */
    cli_value_visit *visit;
    void *user;
} value_comparison;

static void set_description(const value_comparison *c, size_t at, bool whole, cli_value_difference *d)
{
    if (whole)
        snprintf(d->what, sizeof d->what, "%s", c->what);
    else
        snprintf(d->what, sizeof d->what, "%.40s, offset %zu,", c->what, at);
}

static bool is_same_place(const place *a, const place *b)
{
    return a->owner != NULL && b->owner != NULL && a->offset == b->offset && a->own == b->own &&
           strcmp(cli_json_text(a->owner, "id"), cli_json_text(b->owner, "id")) == 0;
}

static bool is_event(const place *p)
{
    return p->owner != NULL && strncmp(cli_json_text(p->owner, "id"), "event", strlen("event")) == 0;
}

static void describe_place(const place *p, const unsigned char *word, char side[CLI_VALUE_SIDE])
{
    char text[BG__VALUE_TEXT];
    if (p->owner == NULL)
        snprintf(side, CLI_VALUE_SIDE, "is %s", bg__value_text(word, sizeof(uint64_t), true, text, sizeof text));
    else if (is_event(p))
        snprintf(side, CLI_VALUE_SIDE, "is %.300s", cli_json_text(p->owner, "text"));
    else if (p->offset > 0)
        snprintf(side, CLI_VALUE_SIDE, "points to byte %llu of %.300s", p->offset, cli_json_text(p->owner, "text"));
    else
        snprintf(side, CLI_VALUE_SIDE, "points to %.300s", cli_json_text(p->owner, "text"));
}

/* Finds the first frame in which the stack differs from the other one. Returns its bytes. */
static int find_other_frame(const char *stack, const char *other, const char **frame)
{
    size_t bytes = strcspn(stack, "\n");
    while (stack[bytes] != '\0' && strcspn(other, "\n") == bytes && strncmp(stack, other, bytes + 1) == 0) {
        stack += bytes + 1;
        other += bytes + 1;
        bytes = strcspn(stack, "\n");
    }
    *frame = stack;
    return (int)bytes;
}

/* Adds the callers, as one function that allocates is called from several places. */
static void add_callers(const place p[2], char sides[2][CLI_VALUE_SIDE])
{
    for (int i = 0; i < 2; i++) {
        const size_t used = strlen(sides[i]);
        const char *frame;
        int bytes =
            find_other_frame(cli_json_text(p[i].owner, "stack"), cli_json_text(p[1 - i].owner, "stack"), &frame);
        if (bytes > 0)
            snprintf(sides[i] + used, CLI_VALUE_SIDE - used, ", for %.*s", bytes, frame);
    }
}

static bool is_in_pool(const place *p)
{
    return p->owner != NULL && cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(p->owner, "pool"));
}

/* Whether one place in the program made both, in whatever threads. */
static bool has_same_maker(const cJSON *owner, const cJSON *of)
{
    const size_t bytes = cli_maker_prefix_bytes(of);
    return bytes > 0 && bytes == cli_maker_prefix_bytes(owner) &&
           strncmp(cli_json_text(owner, "id"), cli_json_text(of, "id"), bytes) == 0;
}

static bool has_several_threads(const cli_run_process *process, const cJSON *owner)
{
    for (size_t i = 0; i < process->owner_count; i++)
        if (has_same_maker(process->owners[i], owner) && !cli_is_own_memory(process->owners[i], owner))
            return true;
    return false;
}

/* Whether several threads make such memory at one place of the program, so that the two may be of different threads. */
static bool may_be_other_thread(const value_comparison *c, const place p[2])
{
    const value *const *values = c->values;
    if (p[0].owner == NULL || p[1].owner == NULL || !has_same_maker(p[0].owner, p[1].owner) ||
        (p[0].own && p[1].own && !values[0]->graph->mixed))
        return false;
    return has_several_threads(values[0]->process, p[0].owner) || has_several_threads(values[1]->process, p[1].owner);
}

/* An allocator such as PyTorch's places a block depending on all blocks before. A word that is an address in only one
 * of the runs may be a number. */
static int certainty_of_places(const place p[2], unsigned char words[2][sizeof(uint64_t)], bool alone)
{
    static const unsigned char null[sizeof(uint64_t)];
    if (is_in_pool(&p[0]) && is_in_pool(&p[1]))
        return 0;
    for (int i = 0; i < 2; i++)
        if (p[i].owner == NULL && !(alone && memcmp(words[i], null, sizeof null) == 0))
            return 0;
    return alone ? 2 : 1;
}

static void report_places(const value_comparison *c, size_t at, const place p[2],
                          unsigned char words[2][sizeof(uint64_t)])
{
    const bool alone = c->values[0]->bytes == sizeof(uint64_t);
    const bool events = is_event(&p[0]) && is_event(&p[1]);
    const bool threads = may_be_other_thread(c, p);
    cli_value_difference d = {.pointer = !events,
                              .event = events,
                              .threads = threads,
                              .sure = threads ? 0 : certainty_of_places(p, words, alone)};

    set_description(c, at, alone, &d);
    for (int i = 0; i < 2; i++)
        describe_place(&p[i], words[i], d.sides[i]);
    if (strcmp(d.sides[0], d.sides[1]) == 0)
        add_callers(p, d.sides);
    snprintf(d.group, sizeof d.group, "pointer %d %.100s %.100s", d.sure, cli_json_text(p[0].owner, "id"),
             cli_json_text(p[1].owner, "id"));
    c->visit(c->user, &d);
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static uint64_t load_word(const unsigned char *bytes, size_t count)
{
    uint64_t word = 0;
    memcpy(&word, bytes, count);
    return word;
}

/* Whether the bytes look like a count, or like a number that programs compute with, not like random bits. */
static bool is_plausible(const unsigned char *bytes, size_t count)
{
    char text[BG__REAL_BYTES];
    int64_t eight;
    int32_t four;

    if (bg__format_if_real(bytes, count, text))
        return true;
    memcpy(&four, bytes, sizeof four);
    if (count == sizeof four)
        return four > -(1 << 24) && four < 1 << 24;
    memcpy(&eight, bytes, sizeof eight);
    return eight > -(1LL << 40) && eight < 1LL << 40;
}

static size_t text_length(const unsigned char *bytes, size_t count)
{
    char text[BG__REAL_BYTES];
    return bg__format_if_real(bytes, count, text) ? strlen(text) : SIZE_MAX / 4;
}

static void report_number(const value_comparison *c, size_t at, size_t count, const unsigned char *a,
                          const unsigned char *b, int sure)
{
    const unsigned char *const sides[] = {a, b};
    cli_value_difference d = {.sure = sure};
    char text[BG__VALUE_TEXT];

    set_description(c, at, count == c->values[0]->bytes, &d);
    for (int i = 0; i < 2; i++)
        snprintf(d.sides[i], CLI_VALUE_SIDE, "is %s", bg__value_text(sides[i], count, false, text, sizeof text));
    snprintf(d.group, sizeof d.group, "number %d %.100s %.100s", sure, d.sides[0], d.sides[1]);
    c->visit(c->user, &d);
}

static bool are_plausible(const unsigned char *a, const unsigned char *b, size_t count)
{
    return is_plausible(a, count) && is_plausible(b, count);
}

static int certainty(const unsigned char *a, const unsigned char *b, size_t count)
{
    return are_plausible(a, b, count) ? 1 : 0;
}

static bool are_integers(const unsigned char *a, const unsigned char *b)
{
    const int64_t most = 1LL << 40;
    int64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x > -most && x < most && y > -most && y < most;
}

/* Whether both have few digits, as numbers in programs do. A float behind padding, read as a double, has many. */
static bool are_short(const unsigned char *a, const unsigned char *b)
{
    enum { SHORT = 14 };
    return text_length(a, sizeof(double)) <= SHORT && text_length(b, sizeof(double)) <= SHORT;
}

/* a and b have eight bytes each, with equal upper halves that are not only a sign. Returns whether each is one number,
 * and not two numbers of which only the first differs. */
static bool is_one_number(const unsigned char *a, const unsigned char *b, bool alone)
{
    return (are_integers(a, b) || are_short(a, b)) && (alone || !are_plausible(a, b, sizeof(int)));
}

/* Whether both are upper halves of addresses. Padding often has such halves, left from the stack: then only the lower
 * half is a value. Such halves differ from start to start, but little from those of this process. */
static bool are_halves_of_addresses(uint64_t a, uint64_t b)
{
    static const char data;
    const uintptr_t own[] = {(uintptr_t)&a, (uintptr_t)&data};
    const uint64_t upper[] = {a >> 8, b >> 8};
    bool are[2] = {false, false};

    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            const uint64_t known = own[k] >> 40;
            are[i] = are[i] || (known > 1 && upper[i] >= known - 1 && upper[i] <= known + 1);
        }
    return are[0] && are[1];
}

/* Eight bytes are one number, or two of four bytes, of which one may be padding: an argument of PyTorch's kernels is a
 * struct with an empty struct in front of a float. */
static void compare_eight(const value_comparison *c, size_t at, const unsigned char *a, const unsigned char *b)
{
    enum { HALF = 4 };
    const uint64_t high[] = {load_word(a + HALF, HALF), load_word(b + HALF, HALF)};
    const bool alone = c->values[0]->bytes == sizeof(uint64_t);
    const bool extended = (high[0] == 0 || high[0] == UINT32_MAX) && (high[1] == 0 || high[1] == UINT32_MAX);

    if (extended && (alone || are_plausible(a, b, 2 * HALF)))
        report_number(c, at, 2 * HALF, a, b, alone ? 2 : 1);
    else if (high[0] == high[1] && is_one_number(a, b, alone))
        report_number(c, at, 2 * HALF, a, b, alone ? 2 : 1);
    else if (high[0] == high[1])
        report_number(c, at, HALF, a, b, certainty(a, b, HALF));
    else if (are_plausible(a + HALF, b + HALF, HALF) && text_length(a + HALF, HALF) + text_length(b + HALF, HALF) <=
                                                            text_length(a, 2 * HALF) + text_length(b, 2 * HALF))
        report_number(c, at + HALF, HALF, a + HALF, b + HALF, alone ? 2 : !are_halves_of_addresses(high[0], high[1]));
    else if (load_word(a, HALF) == load_word(b, HALF) && !are_plausible(a, b, 2 * HALF))
        report_number(c, at + HALF, HALF, a + HALF, b + HALF, 0);
    else
        report_number(c, at, 2 * HALF, a, b, alone ? 2 : certainty(a, b, 2 * HALF));
}

/* Whether the value may be an empty struct: a parameter of one byte that is never set. A number may look the same. */
static bool may_be_unset_byte(const value_comparison *c, const unsigned char *a, const unsigned char *b)
{
    return c->values[0]->bytes == 1 && (a[0] > 1 || b[0] > 1);
}

/* Compares the bytes after the last whole word. */
static void compare_rest(const value_comparison *c, size_t at, size_t count, const unsigned char *a,
                         const unsigned char *b)
{
    const bool alone = count == c->values[0]->bytes;

    if (memcmp(a, b, count) == 0)
        return;
    if (may_be_unset_byte(c, a, b))
        report_number(c, at, count, a, b, 1);
    else if (count == sizeof(int) || (alone && count < sizeof(int)))
        report_number(c, at, count, a, b, alone ? 2 : certainty(a, b, sizeof(int)));
    else if (count > sizeof(int) && memcmp(a, b, sizeof(int)) != 0)
        report_number(c, at, sizeof(int), a, b, certainty(a, b, sizeof(int)));
    else
        report_number(c, at, count, a, b, 0);
}

/* ---- all values of a node --------------------------------------------------------------------------------------- */

static void compare_value(const value_comparison *c)
{
    const value *a = c->values[0], *b = c->values[1];
    size_t rest;

    for (size_t at = 0; at < a->bytes && at < b->bytes; at += sizeof(uint64_t)) {
        unsigned char words[2][sizeof(uint64_t)];
        const place places[] = {find_place(a, at), find_place(b, at)};
        rest = (a->bytes < b->bytes ? a->bytes : b->bytes) - at;
        rest = rest < sizeof(uint64_t) ? rest : sizeof(uint64_t);
        read_bytes(a, at, rest, words[0]);
        read_bytes(b, at, rest, words[1]);
        if (is_same_place(&places[0], &places[1]))
            continue;
        if (places[0].owner != NULL || places[1].owner != NULL)
            report_places(c, at, places, words);
        else if (rest < sizeof(uint64_t))
            compare_rest(c, at, rest, words[0], words[1]);
        else if (memcmp(words[0], words[1], rest) != 0)
            compare_eight(c, at, words[0], words[1]);
    }
}

static const char *value_name(const cli_node_pair *pair, int index, char text[CLI_VALUE_WHAT])
{
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(pair->graphs[0]->row, "names");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(names, cli_json_text(pair->nodes[0], "kind"));
    const cJSON *name = cJSON_GetArrayItem(list, index);

    if (cJSON_IsString(name))
        return name->valuestring;
    snprintf(text, CLI_VALUE_WHAT, "kernel parameter %d", index - cJSON_GetArraySize(list));
    return text;
}

size_t cli_node_compare(const cli_node_pair *pair, cli_value_visit *visit, void *user)
{
    value_comparison c = {.visit = visit, .user = user};
    const cJSON *a = cJSON_GetObjectItemCaseSensitive(pair->nodes[0], "values");
    const cJSON *b = cJSON_GetObjectItemCaseSensitive(pair->nodes[1], "values");
    size_t count = 0;
    char text[CLI_VALUE_WHAT];

    a = a != NULL ? a->child : NULL;
    b = b != NULL ? b->child : NULL;
    for (int i = 0; a != NULL && b != NULL; i++, a = a->next, b = b->next) {
        const value first = parse_value(a, pair->processes[0], pair->graphs[0]);
        const value second = parse_value(b, pair->processes[1], pair->graphs[1]);
        c.values[0] = &first;
        c.values[1] = &second;
        c.what = value_name(pair, i, text);
        compare_value(&c);
        count++;
    }
    return count;
}
