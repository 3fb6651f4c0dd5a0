/* What captures and replays know of the tools. */
#include "check.h"

const bg__debug_table bg__debug_hooks = {.check_replay = bg__check_replay};
