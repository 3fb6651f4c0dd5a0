/* The shim calls this after the program's first successful cuInit. */
#include "attach_interface.h"

#include "base/base.h"
#include "debug/attach/allocators/python.h"
#include "debug/attach/checks/kernel_modules.h"
#include "debug/attach/graphs/graph_table.h"
#include "debug/attach/hooks/driver_hooks.h"
#include "debug/attach/launches/launches.h"
#include "debug/attach/stacks/stacks.h"

BG_API bg__attach_begin_function bg__attach_begin;

/* Runs on the program's thread, inside its call of cuInit, so it must not wait for the program. */
bool bg__attach_begin(const bg__attach_shim *shim)
{
    if (shim->version != BG__ATTACH_VERSION) {
        bg__warn("--attach: the shim and the tools are of different builds; the program runs without tools");
        return false;
    }
    if (bg__graph_table_begin(shim) != BG_OK || bg__launches_begin() != BG_OK) {
        bg__warn("--attach: %s; the program runs without tools", bg_last_error());
        return false;
    }
    bg__stacks_begin();
    bg__python_begin(shim);
    bg__kernel_modules_begin(shim);
    bg__hook_captures(shim);
    bg__hook_graphs(shim);
    bg__hook_memory(shim);
    bg__hook_work(shim);
    bg__interface_begin(shim);
    return true;
}
