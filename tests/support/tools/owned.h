/* Objects that go with their scope, as those of support.h, made where they are declared: OWN_GRAPH(graph, capture(f)).
 */
#ifndef BG_TESTS_OWNED_H
#define BG_TESTS_OWNED_H

#include "tests/support/support.h"

#include <cjson/cJSON.h>

#define OWN_GRAPH(name, value)  OWN(bg_graph *, name, destroy_owned_graph, value)
#define OWN_REPORT(name, value) OWN(bg_report *, name, destroy_owned_report, value)
#define OWN_POOL(name, value)   OWN(bg_pool *, name, destroy_owned_pool, value)
#define OWN_JSON(name, value)   OWN(cJSON *, name, delete_owned_json, value)
/* Device memory: OWN_MEMORY(char, block, allocate(BYTES)) declares char *block. */
#define OWN_MEMORY(type, name, value) OWN(type *, name, free_owned_memory, value)
/* What free gives back. */
#define OWN_TEXT(name, value) OWN(char *, name, free_owned_text, value)

#define OWN(type, name, destroy, value) __attribute__((cleanup(destroy))) type name = value
void delete_owned_json(cJSON **json);
void free_owned_text(char **text);

#endif
