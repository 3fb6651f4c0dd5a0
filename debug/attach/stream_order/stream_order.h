/* Begin of the check of the order between graphs and other work. */
#ifndef BG_ATTACH_STREAM_ORDER_H
#define BG_ATTACH_STREAM_ORDER_H

#include <stdbool.h>

/* begin adds the hooks that this needs. It is called with the first graph. */
void bg__stream_order_begin(void (*begin)(void));
/* Whether work outside of graphs is recorded. */
bool bg__stream_order_is_active(void);

#endif
