/* What the tests of events share: more streams than the fixture has, and events. */
#ifndef BG_TESTS_EVENT_SUPPORT_H
#define BG_TESTS_EVENT_SUPPORT_H

#include "support.h"

extern cudaStream_t third, side; /* side takes part in no capture */
extern cudaEvent_t e, f, g;
extern cudaEvent_t first, last; /* with times */

/* cmocka's setup and teardown, around those of the fixture. */
int event_setup(void **state);
int event_teardown(void **state);

#endif
