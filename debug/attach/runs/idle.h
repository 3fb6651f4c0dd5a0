/* Waits for the device, but not for ever: its work may wait for what the program does after the launch that waits. */
#ifndef BG_ATTACH_IDLE_H
#define BG_ATTACH_IDLE_H

#include "base/base.h"

enum { BG__IDLE_LIMIT = 10 }; /* seconds */

/* *idle: all work of the current context has ended. false: it had not after BG__IDLE_LIMIT, now or in an earlier call
 * whose work still runs. Errors: CUDA, OUT_OF_MEMORY. */
bg_status bg__wait_until_idle(bool *idle);

#endif
