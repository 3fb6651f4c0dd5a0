#include "tolerance.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bg_status refuse_tolerance(const char *from, const char *item, size_t length)
{
    return bg__fail(
        BG_ERROR_INVALID_ARGUMENT,
        "%s: \"%.*s\" is not a tolerance; write LIMIT,... or NAME:LIMIT,... with ';' between; LIMIT: abs=X, rel=X "
        "or ulp=N; NAME: a dtype or a pattern of op calls; as in \"f16:ulp=4; attention:rel=1e-3,abs=1e-6\"",
        from, (int)length, item);
}

static void trim_spaces(const char **text, size_t *length)
{
    while (*length > 0 && isspace((unsigned char)**text)) {
        (*text)++;
        (*length)--;
    }
    while (*length > 0 && isspace((unsigned char)(*text)[*length - 1]))
        (*length)--;
}

static bool read_count(const char *text, uint64_t *count)
{
    char *end;
    errno = 0;
    *count = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0;
}

/* Reads "rel=1e-3". Returns false if the text is not a tolerance. */
static bool read_limit(const char *text, size_t length, bg_tolerance *tolerance)
{
    char copy[64], *value;

    trim_spaces(&text, &length);
    if (length < 5 || length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    value = copy + 4;
    if (!isdigit((unsigned char)*value) && *value != '.')
        return false;
    if (strncmp(copy, "ulp=", 4) == 0)
        return read_count(value, &tolerance->ulp);
    if (strncmp(copy, "abs=", 4) == 0)
        return bg__parse_number(value, &tolerance->absolute);
    return strncmp(copy, "rel=", 4) == 0 && bg__parse_number(value, &tolerance->relative);
}

static bool read_limits(const char *text, size_t length, bg_tolerance *tolerance)
{
    for (;;) {
        const char *comma = memchr(text, ',', length);
        size_t part = comma != NULL ? (size_t)(comma - text) : length;
        if (!read_limit(text, part, tolerance))
            return false;
        if (comma == NULL)
            return true;
        text = comma + 1;
        length -= part + 1;
    }
}

static int find_dtype(const char *name)
{
    for (bg_dtype dtype = BG_F32; dtype <= BG_BOOL; dtype++)
        if (strcmp(bg_dtype_name(dtype), name) == 0)
            return (int)dtype;
    return -1;
}

/* Reads the name before the colon: "attention", or "f16". */
static bg_status read_tolerance_name(bg__tolerance_item *item, const char *name, size_t length, const char *from)
{
    bg_status status;

    trim_spaces(&name, &length);
    item->name = strndup(name, length);
    if (item->name == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a tolerance");
    item->dtype = find_dtype(item->name);
    if (item->dtype >= 0) {
        free(item->name);
        item->name = NULL;
        return BG_OK;
    }
    if (length == 0 || name[0] == '!' || strchr(item->name, ',') != NULL)
        return refuse_tolerance(from, name, length);
    BG__TRY(bg__override_check_list(item->name, from));
done:
    return status;
}

static bg_status add_tolerance(bg__tolerances *t, const char *text, size_t length, const char *from)
{
    const char *colon = memchr(text, ':', length), *limits = colon != NULL ? colon + 1 : text;
    bg__tolerance_item *item;
    bg_status status;

    BG__TRY(BG__ARRAY_GROW(t->list, t->count, t->capacity, "tolerances"));
    item = &t->list[t->count++];
    *item = (bg__tolerance_item){.dtype = -1};
    if (colon != NULL)
        BG__TRY(read_tolerance_name(item, text, (size_t)(colon - text), from));
    if (!read_limits(limits, length - (size_t)(limits - text), &item->tolerance))
        status = refuse_tolerance(from, text, length);
done:
    return status;
}

bg_status bg__tolerances_add(bg__tolerances *t, const char *text, const char *from)
{
    bg_status status = BG_OK;

    while (text != NULL) {
        const char *end = strchr(text, ';'), *item = text;
        size_t length = end != NULL ? (size_t)(end - text) : strlen(text);
        trim_spaces(&item, &length);
        if (length > 0)
            BG__TRY(add_tolerance(t, item, length, from));
        text = end != NULL ? end + 1 : NULL;
    }
done:
    return status;
}

bg_status bg__tolerances_add_call(bg__tolerances *t, const bg__call *call, const char *text)
{
    size_t first = t->count;
    bg_status status;

    BG__TRY(bg__tolerances_add(t, text, "a rule's tolerance"));
    for (; first < t->count; first++) {
        t->list[first].name = strdup(call->name);
        if (t->list[first].name == NULL)
            return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for tolerances");
    }
done:
    return status;
}

bg_status bg_tolerances_check(const char *text)
{
    bg__tolerances t = {0};
    bg_status status;

    BG__NEED(text);
    status = bg__tolerances_add(&t, text, "tolerances");
    bg__tolerances_free(&t);
    return status;
}

static bool item_matches(const bg__tolerance_item *item, const bg__call *call, bg_dtype dtype)
{
    if (item->name == NULL)
        return item->dtype < 0 || item->dtype == (int)dtype;
    return call != NULL && bg__call_matches(call, item->name, strlen(item->name));
}

const bg_tolerance *bg__tolerances_find(const bg__tolerances *t, const bg__call *call, bg_dtype dtype)
{
    for (size_t i = t->count; i-- > 0;)
        if (item_matches(&t->list[i], call, dtype))
            return &t->list[i].tolerance;
    return &t->base;
}

void bg__tolerances_free(bg__tolerances *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->list[i].name);
    free(t->list);
    *t = (bg__tolerances){0};
}
