/* The table of functions by which captures and replays call the debugging tools. */
#include "graph/debug_table.h"
#include "capture_checks.h"
#include "compile_tools.h"
#include "replay_tools.h"
#include "debug/check/node_pointers.h"
#include "debug/report/runner_report.h"

const bg__debug_table bg__debug_hooks = {
    .check_replay = bg__env_check_replay,
    .check_graph = bg__env_check_graph,
    .not_checked = bg__env_record_unchecked,
    .note_nodes = bg__recorded_allocations_update,
    .begin = bg__replay_tools_check_env,
    .check_recapture = bg__env_check_recapture,
    .check_poison = bg__env_check_poison,
    .check_padding = bg__env_check_padding,
    .check_bucket = bg__env_check_bucket,
    .check_tolerance = bg__compile_check_tolerance,
    .compare = bg__compile_compare,
    .describe = bg__compile_describe,
    .compiled = bg__compile_report_fusions,
    .captured = bg__replay_tools_attach,
    .replay = bg__replay_tools_replay,
    .destroyed = bg__replay_tools_detach,
    .runner_ran = bg__runner_report_write,
    .runner_destroyed = bg__runner_report_end,
};
