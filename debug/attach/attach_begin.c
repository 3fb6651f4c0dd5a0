/* Starts the tools. The shim calls bg__attach_begin after the program's first successful cuInit. */
#include "attach_interface.h"

#include "base/base.h"
#include "debug/attach/graphs/graph_table.h"
#include "debug/attach/hooks/driver_hooks.h"
#include "debug/attach/launches/launches.h"

BG_API bg__attach_begin_function bg__attach_begin;

/* Runs on the program's thread, inside its call of cuInit, so it must not wait for the program. */
bool bg__attach_begin(const bg__attach_shim *shim)
{
    if (shim->version != BG__ATTACH_VERSION) {
        bg__warn("--attach: the shim and the tools are of different builds; the program runs without tools");
        return false;
    }
    bg__stacks_begin();
    if (bg__events_begin(shim, bg__attach_subscribers) != BG_OK || bg__graph_table_begin() != BG_OK ||
        bg__launches_begin() != BG_OK) {
        bg__warn("--attach: %s; the program runs without tools", bg_last_error());
        return false;
    }
    bg__hook_captures();
    bg__hook_graphs();
    bg__hook_memory();
    bg__hook_work();
    bg__interface_begin();
    return true;
}
