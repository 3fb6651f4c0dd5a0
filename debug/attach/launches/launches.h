/* What is done in place of the program's launches: one file for each, of which the environment chooses one. */
#ifndef BG_ATTACH_LAUNCHES_H
#define BG_ATTACH_LAUNCHES_H

#include "debug/attach/events/tracked_graph.h"

/* Reads the environment. INVALID_ARGUMENT. */
bg_status bg__launches_begin(void);

/* Each reads its own variables: *launcher, else unchanged, where they ask for it. */
bg_status bg__orders_begin(const bg__launcher **launcher);
bg_status bg__probes_begin(const bg__launcher **launcher);
bg_status bg__attach_shadow_begin(const bg__launcher **launcher);
bg_status bg__launch_hangs(const bg__launcher **launcher); /* last: where nothing else does */
bg_status bg__break_begin(const bg__launcher **launcher);
bg_status bg__attach_padding_begin(const bg__launcher **launcher);
bg_status bg__attach_poison_begin(const bg__launcher **launcher);

#endif
