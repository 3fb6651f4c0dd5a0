/* Finds whether one op call runs inside another, by their names, for the search of a bisect. */
#ifndef BG_DEBUG_CULPRIT_SEARCH_H
#define BG_DEBUG_CULPRIT_SEARCH_H

#include <stdbool.h>

/* Whether the call of that name runs inside the call `outer`: "attention#0/rope#1" inside "attention#0". */
bool bg__is_call_inside(const char *call, const char *outer);

#endif
