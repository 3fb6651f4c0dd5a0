/* What the tests of events share: more streams than the fixture has, and events. */
#ifndef BG_TESTS_EVENT_SUPPORT_H
#define BG_TESTS_EVENT_SUPPORT_H

#include "support.h"

extern cudaStream_t third, side; /* side takes part in no capture */
extern cudaEvent_t e, f, g;
extern cudaEvent_t first, last; /* with times */

/* cmocka's setup and teardown, around those of the fixture, which is named t here. */
int event_setup(void **state);
int event_teardown(void **state);
#define EVENT_TEST(name) TEST_F(name, event_setup, event_teardown, fixture *t)
#define EVENT_PASS(name) PASS(name, fixture *t)

/* The waiter waits for what the other stream has by now, by the event. */
bg_status wait_by(cudaEvent_t event, cudaStream_t waiter, cudaStream_t other);

#endif
