/* Texts and JSON that go with their scope, as the objects of tests/support/owned.h: OWN_TEXT(text, read_all(path)). */
#ifndef BG_TESTS_TOOLS_OWNED_H
#define BG_TESTS_TOOLS_OWNED_H

#include "tests/support/support.h"

#include <cjson/cJSON.h>

#define OWN_JSON(name, value) OWN(cJSON *, name, delete_owned_json, value)
/* What free gives back. */
#define OWN_TEXT(name, value) OWN(char *, name, free_owned_text, value)
void delete_owned_json(cJSON **json);
void free_owned_text(char **text);

#endif
