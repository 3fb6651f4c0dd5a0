/* The outputs of a replay that differ from the eager pass, and the calls that made them differ. */
#ifndef BG_DEBUG_MISMATCHES_H
#define BG_DEBUG_MISMATCHES_H

#include "comparison.h"

/* Compares the outputs of the last replay with the kept eager run. Sets *differs if one is beyond the tolerance. */
bg_status bg__mismatches_compare(bg__shadow *shadow, bool *differs);
/* Whether an output differs that the report does not name yet. */
bool bg__mismatches_any_unreported(const bg__shadow *shadow);
/* Adds a finding for each output that differs, with the calls that made it differ. Memory must be restored before, and
 * is restored afterwards. */
bg_status bg__mismatches_report(bg__shadow *shadow);
/* Finds the calls that differ, and reports causes before effects: races between calls, then faults of calls, then the
 * outputs that differ. recorded: the kept eager run has its calls. *found: findings on calls were added. Restores
 * memory. */
bg_status bg__mismatches_explain(bg__shadow *shadow, bool recorded, bool differs, bool *found);
/* Reports races even if nothing differs: the eager pass that the replay was compared with may have the same race. */
bg_status bg__mismatches_report_races(bg__shadow *shadow);

#endif
