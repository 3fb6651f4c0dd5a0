/* What tests of JSON share: its members, by name. They fail the test where there is none, or it is of another type. */
#ifndef BG_TESTS_JSON_SUPPORT_H
#define BG_TESTS_JSON_SUPPORT_H

#include "tests/support/support.h"

#include <cjson/cJSON.h>

/* The caller deletes it. */
cJSON *parsed(const char *json);

const cJSON *member(const cJSON *object, const char *name);
const char *string_of(const cJSON *object, const char *name);
double number_of(const cJSON *object, const char *name);
/* A member that need not be there. */
bool has_member(const cJSON *object, const char *name);
/* Element index of the list of that name. */
const cJSON *element(const cJSON *object, const char *list, int index);
int size_of(const cJSON *object, const char *list);
const char *string_at(const cJSON *object, const char *list, int index);

#endif
