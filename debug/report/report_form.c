/* The form of a report's JSON, as docs/report-format.md gives it. */
#include "report_data.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { PLACE_BYTES = 96 };

/* NUMBER: also null, which stands for what is not finite. COUNT: a whole number from 0. INDEX: one from -1. WORD: one
 * of a list. ADDRESS: a string, or null. PAIR: two counts. */
typedef enum form { STRING, NUMBER, COUNT, INDEX, FLAG, WORD, ADDRESS, PAIR, STRINGS, INDICES, OBJECT, OBJECTS } form;

static const char *const form_names[] = {
    "a string", "a number",   "a count",           "an index",          "true or false", "a known word",
    "a string", "two counts", "a list of strings", "a list of indices", "an object",     "a list of objects",
};

typedef struct member {
    const char *name; /* NULL ends them */
    form form;
    bool needed;
    const struct member *inside; /* of OBJECT and OBJECTS */
    const char *const *words;
} member;

static const char *const verdicts[] = {"good", "bad", "skip", NULL};

static const member finding[] = {{"kind", STRING, true, NULL, NULL},
                                 {"severity", WORD, true, NULL, bg__severity_names},
                                 {"call", STRING, false, NULL, NULL},
                                 {"file", STRING, false, NULL, NULL},
                                 {"line", INDEX, false, NULL, NULL},
                                 {"address", ADDRESS, false, NULL, NULL},
                                 {"message", STRING, true, NULL, NULL},
                                 {"advice", STRING, false, NULL, NULL},
                                 {0}};

static const member segment[] = {{"nodes", COUNT, false, NULL, NULL}, {"kernel_nodes", COUNT, false, NULL, NULL}, {0}};

static const member step[] = {{"kind", STRING, true, NULL, NULL},
                              {"segment", INDEX, false, NULL, NULL},
                              {"call", STRING, false, NULL, NULL},
                              {0}};

static const member call[] = {{"name", STRING, true, NULL, NULL},
                              {"op", STRING, false, NULL, NULL},
                              {"file", STRING, false, NULL, NULL},
                              {"line", INDEX, false, NULL, NULL},
                              {"eager", FLAG, false, NULL, NULL},
                              {"segment", INDEX, false, NULL, NULL},
                              {0}};

static const member node[] = {{"segment", INDEX, true, NULL, NULL},  {"node", INDEX, true, NULL, NULL},
                              {"kind", STRING, false, NULL, NULL},   {"kernel", STRING, false, NULL, NULL},
                              {"call", STRING, false, NULL, NULL},   {"lane", INDEX, false, NULL, NULL},
                              {"after", INDICES, false, NULL, NULL}, {0}};

static const member outline[] = {{"name", STRING, false, NULL, NULL},
                                 {"breaks", COUNT, false, NULL, NULL},
                                 {"capture_ms", NUMBER, false, NULL, NULL},
                                 {"instantiate_ms", NUMBER, false, NULL, NULL},
                                 {"segments", OBJECTS, false, segment, NULL},
                                 {"steps", OBJECTS, false, step, NULL},
                                 {"calls", OBJECTS, false, call, NULL},
                                 {"nodes", OBJECTS, false, node, NULL},
                                 {0}};

static const member comparison[] = {{"call", STRING, true, NULL, NULL},
                                    {"field", STRING, true, NULL, NULL},
                                    {"file", STRING, false, NULL, NULL},
                                    {"line", INDEX, false, NULL, NULL},
                                    {"against", STRING, false, NULL, NULL},
                                    {"dtype", STRING, false, NULL, NULL},
                                    {"elements", COUNT, false, NULL, NULL},
                                    {"differing", COUNT, false, NULL, NULL},
                                    {"beyond", COUNT, false, NULL, NULL},
                                    {"first", COUNT, false, NULL, NULL},
                                    {"absolute", NUMBER, false, NULL, NULL},
                                    {"relative", NUMBER, false, NULL, NULL},
                                    {"ulp", NUMBER, false, NULL, NULL},
                                    {"nan", PAIR, false, NULL, NULL},
                                    {"infinite", PAIR, false, NULL, NULL},
                                    {"digest", STRINGS, false, NULL, NULL},
                                    {0}};

static const member trial[] = {{"eager", STRINGS, false, NULL, NULL},  {"all", FLAG, false, NULL, NULL},
                               {"why", STRING, false, NULL, NULL},     {"verdict", WORD, true, NULL, verdicts},
                               {"seconds", NUMBER, false, NULL, NULL}, {0}};

static const member timing[] = {{"what", STRING, true, NULL, NULL},
                                {"cpu_us", NUMBER, false, NULL, NULL},
                                {"gpu_us", NUMBER, false, NULL, NULL},
                                {0}};

static const member report[] = {{"breakgraph", STRING, false, NULL, NULL},
                                {"report_version", COUNT, true, NULL, NULL},
                                {"tool", STRING, true, NULL, NULL},
                                {"graph", STRING, true, NULL, NULL},
                                {"lost", INDEX, false, NULL, NULL},
                                {"findings", OBJECTS, true, finding, NULL},
                                {"outline", OBJECT, false, outline, NULL},
                                {"comparisons", OBJECTS, false, comparison, NULL},
                                {"trials", OBJECTS, false, trial, NULL},
                                {"timings", OBJECTS, false, timing, NULL},
                                {0}};

static bool is_whole(const cJSON *item, double least, double most)
{
    double value = item->valuedouble;
    return cJSON_IsNumber(item) && value >= least && value <= most && floor(value) == value;
}

static bool is_word(const cJSON *item, const char *const *words)
{
    if (!cJSON_IsString(item))
        return false;
    while (*words != NULL && strcmp(*words, item->valuestring) != 0)
        words++;
    return *words != NULL;
}

static bool are_all(const cJSON *list, form form)
{
    const cJSON *item;
    if (!cJSON_IsArray(list))
        return false;
    cJSON_ArrayForEach(item, list)
    {
        if (form == STRINGS   ? !cJSON_IsString(item)
            : form == PAIR    ? !is_whole(item, 0, (double)UINT64_MAX)
            : form == INDICES ? !is_whole(item, -1, INT_MAX)
                              : !cJSON_IsObject(item))
            return false;
    }
    return form != PAIR || cJSON_GetArraySize(list) == 2;
}

static bool is_of_form(const cJSON *item, const member *m)
{
    switch (m->form) {
    case STRING: return cJSON_IsString(item);
    case NUMBER: return cJSON_IsNull(item) || cJSON_IsNumber(item);
    case COUNT: return is_whole(item, 0, (double)UINT64_MAX);
    case INDEX: return is_whole(item, -1, INT_MAX);
    case FLAG: return cJSON_IsBool(item);
    case WORD: return is_word(item, m->words);
    case ADDRESS: return cJSON_IsNull(item) || cJSON_IsString(item);
    case OBJECT: return cJSON_IsObject(item);
    default: return are_all(item, m->form);
    }
}

static bg_status check_object(cJSON *object, const member *members, const char *place);

static bg_status check_member(cJSON *item, const member *m, const char *place)
{
    char inside[PLACE_BYTES];
    bg_status status = BG_OK;
    cJSON *each;
    int i = 0;

    snprintf(inside, sizeof inside, "%s%s%s", place, place[0] != '\0' ? "." : "", m->name);
    if (!is_of_form(item, m))
        return bg__fail(BG_ERROR_IO, "%s is not %s", inside, form_names[m->form]);
    if (m->form == OBJECT)
        return check_object(item, m->inside, inside);
    if (m->form != OBJECTS)
        return BG_OK;
    cJSON_ArrayForEach(each, item)
    {
        snprintf(inside, sizeof inside, "%s%s%s[%d]", place, place[0] != '\0' ? "." : "", m->name, i++);
        BG__TRY(check_object(each, m->inside, inside));
    }
done:
    return status;
}

/* The first member of a name counts. */
static bg_status check_object(cJSON *object, const member *members, const char *place)
{
    unsigned seen = 0;
    bg_status status = BG_OK;
    cJSON *next;

    for (cJSON *item = object->child; item != NULL; item = next) {
        int i = 0;
        next = item->next;
        while (members[i].name != NULL && strcmp(members[i].name, item->string) != 0)
            i++;
        if (members[i].name == NULL || (seen & 1u << i) != 0) {
            cJSON_Delete(cJSON_DetachItemViaPointer(object, item));
            continue;
        }
        seen |= 1u << i;
        BG__TRY(check_member(item, &members[i], place));
    }
    for (int i = 0; members[i].name != NULL; i++)
        if (members[i].needed && (seen & 1u << i) == 0)
            return bg__fail(BG_ERROR_IO, "%s%s\"%s\" is missing", place, place[0] != '\0' ? ": " : "", members[i].name);
done:
    return status;
}

/* What the steps and the nodes say of segments that there are. */
static bg_status check_segments(const cJSON *outline_item, const char *list, double segments)
{
    const cJSON *item, *index;
    int i = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(outline_item, list))
    {
        index = cJSON_GetObjectItemCaseSensitive(item, "segment");
        if (index != NULL && index->valuedouble >= segments)
            return bg__fail(BG_ERROR_IO, "outline.%s[%d].segment is %.0f, of %.0f", list, i, index->valuedouble,
                            segments);
        i++;
    }
    return BG_OK;
}

bg_status bg__report_check(cJSON *root)
{
    const cJSON *pass;
    double segments;
    bg_status status;

    if (!cJSON_IsObject(root))
        return bg__fail(BG_ERROR_IO, "it is no object");
    BG__TRY(check_object(root, report, ""));
    pass = cJSON_GetObjectItemCaseSensitive(root, "outline");
    segments = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(pass, "segments"));
    BG__TRY(check_segments(pass, "steps", segments));
    BG__TRY(check_segments(pass, "nodes", segments));
done:
    return status;
}
