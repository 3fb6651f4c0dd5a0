/* What captures and replays know of the debugging tools. */
#include "captured.h"
#include "check.h"
#include "diverted.h"
#include "node_pointers.h"
#include "stepping.h"

const bg__debug_table bg__debug_hooks = {
    .check_replay = bg__check_replay,
    .note_nodes = bg__nodes_note,
    .step_begin = bg__stepping_begin,
    .check_twice = bg__env_check_twice,
    .check_poison = bg__env_check_poison,
    .captured = bg__diverted_begin,
    .replay = bg__diverted_replay,
    .destroyed = bg__diverted_end,
};
