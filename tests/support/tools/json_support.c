#include "json_support.h"

cJSON *parsed(const char *json)
{
    cJSON *root = cJSON_Parse(json);
    assert_non_null(root);
    return root;
}

bool has_member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name) != NULL;
}

const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);
    if (found == NULL)
        fail_msg("there is no \"%s\"", name);
    return found;
}

const char *string_of(const cJSON *object, const char *name)
{
    const char *value = cJSON_GetStringValue(member(object, name));
    if (value == NULL)
        fail_msg("\"%s\" is no string", name);
    return value;
}

double number_of(const cJSON *object, const char *name)
{
    const cJSON *value = member(object, name);
    if (!cJSON_IsNumber(value))
        fail_msg("\"%s\" is no number", name);
    return value->valuedouble;
}

int size_of(const cJSON *object, const char *list)
{
    const cJSON *found = member(object, list);
    if (!cJSON_IsArray(found))
        fail_msg("\"%s\" is no list", list);
    return cJSON_GetArraySize(found);
}

const cJSON *element(const cJSON *object, const char *list, int index)
{
    if (index >= size_of(object, list))
        fail_msg("\"%s\" has no element %d", list, index);
    return cJSON_GetArrayItem(member(object, list), index);
}

const char *string_at(const cJSON *object, const char *list, int index)
{
    const char *value = cJSON_GetStringValue(element(object, list, index));
    if (value == NULL)
        fail_msg("element %d of \"%s\" is no string", index, list);
    return value;
}
