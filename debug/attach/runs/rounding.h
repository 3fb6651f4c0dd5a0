/* Sums of the same numbers in two orders. */
#ifndef BG_ATTACH_ROUNDING_H
#define BG_ATTACH_ROUNDING_H

#include <stdbool.h>
#include <stddef.h>

/* What memory holds before two nodes, after each of them alone, and after both in either order. */
enum { BG__BEFORE, BG__AFTER_ONE, BG__AFTER_OTHER, BG__AFTER_BOTH, BG__AFTER_REVERSED, BG__SUM_STATES };
/* Whether both nodes add to floats of one format there, so that the two orders differ by rounding alone. Nobody knows
 * of what type memory is: so all that differs must be numbers that programs compute with. false also where nothing
 * does. */
bool bg__are_sums(const unsigned char *const states[BG__SUM_STATES], size_t bytes);
/* Of two results alone: whether they differ by rounding, whatever was added. */
bool bg__differ_by_rounding(const unsigned char *one, const unsigned char *other, size_t bytes);

#endif
