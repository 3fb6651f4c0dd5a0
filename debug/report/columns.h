/* Writes JSON in the form that a page contains: lists of objects as columns, and each text once. So a report of 64,000
 * calls takes a fifth of the bytes. */
#ifndef BG_DEBUG_COLUMNS_H
#define BG_DEBUG_COLUMNS_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "base/base.h"

/* Writes an object with the members of `root`, and "strings", a list of texts. A list of objects is written as
 * {"texts": {"name": [2, -1, ...]}, "values": {"line": [52, {}, ...]}}: for each member a list with one element for
 * each object. A member that is always a text has indices in "strings", -1 if an object lacks it; any other member has
 * its values, {} if an object lacks it. A list of texts is written as {"places": [2, 7]}. No '<' is written, so that
 * the text can be inside a script element.
 * Errors: OUT_OF_MEMORY. */
bg_status bg__columns_write(const cJSON *root, FILE *out);

#endif
