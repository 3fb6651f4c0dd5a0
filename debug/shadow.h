/* Shadow, for bg_shadow and for BG_SHADOW. */
#ifndef BG_DEBUG_SHADOW_H
#define BG_DEBUG_SHADOW_H

#include <breakgraph/shadow.h>

#include "twice.h"

/* As bg_shadow; captures are made by pass->options, but for what the tool sets. options may be NULL. */
bg_status bg__shadow(const bg__twice_pass *pass, const bg_compare_options *options, bg_report **report);

#endif
