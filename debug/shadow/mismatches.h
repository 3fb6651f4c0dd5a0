/* The outputs of a replay that differ from the eager pass, and what has made them differ. */
#ifndef BG_DEBUG_MISMATCHES_H
#define BG_DEBUG_MISMATCHES_H

#include "comparison.h"

/* Compares the outputs of the last replay with the kept eager run. *differs: set where one is beyond the tolerance. */
bg_status bg__mismatches_compare(bg__shadow *shadow, bool *differs);
/* An output differs, and the report does not say so yet. */
bool bg__mismatches_any_untold(const bg__shadow *shadow);
/* Adds the outputs that differ, with the calls that have made them differ. Memory is restored before, and afterwards.
 */
bg_status bg__mismatches_tell(bg__shadow *shadow);
/* Finds the calls that differ, and tells causes before what follows of them: those that lie between calls, those in
 * calls, and which outputs differ. recorded: the kept eager run has its calls. *found: some calls were told. Restores
 * memory. */
bg_status bg__mismatches_judge(bg__shadow *shadow, bool recorded, bool differs, bool *found);
/* Also where nothing differs: the eager pass that the replay was compared with may have the race as well. */
bg_status bg__mismatches_tell_races(bg__shadow *shadow);

#endif
