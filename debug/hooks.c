/* What captures and replays know of the debugging tools. */
#include "captured.h"
#include "check.h"
#include "node_pointers.h"
#include "stepping.h"

const bg__debug_table bg__debug_hooks = {
    .check_replay = bg__check_replay,
    .note_nodes = bg__nodes_note,
    .step_begin = bg__stepping_begin,
    .step_replay = bg__stepping_replay,
    .step_end = bg__stepping_end,
    .check_twice = bg__env_check_twice,
    .check_poison = bg__env_check_poison,
};
