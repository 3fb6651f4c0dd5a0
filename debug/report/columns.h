/* JSON as a page holds it: lists of objects as columns, each text once. A report of 64,000 calls is a fifth as long. */
#ifndef BG_DEBUG_COLUMNS_H
#define BG_DEBUG_COLUMNS_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "base/base.h"

/* Writes an object whose members are those of root, and "strings", a list of texts. A list of objects is written as
 * {"texts": {"name": [2, -1, ...]}, "values": {"line": [52, {}, ...]}}: a list for each member, of as many elements as
 * there are objects. A member that is always a text has places in "strings", -1 where an object lacks it; any other has
 * its values, {} where an object lacks it. A list of texts is written as {"places": [2, 7]}. No '<' is written, so that
 * the text can be inside a script element.
 * Errors: OUT_OF_MEMORY. */
bg_status bg__columns_write(const cJSON *root, FILE *out);

#endif
