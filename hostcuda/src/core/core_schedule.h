/* The order in which queued work runs. Seed 0 is the order of issue. Any other seed chooses, at each step, among all
 * work that can run, and decides when work runs at all. Nothing depends on addresses or time: a seed replays exactly.
 */
#ifndef HOSTCUDA_SCHEDULE_H
#define HOSTCUDA_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the seed's sequence of choices. */
void hc_schedule_seed(uint64_t seed);
bool hc_schedule_seeded(void);

/* Begins a step of a seeded order. The candidate with the greatest key then runs. */
void hc_schedule_begin_step(void);
uint64_t hc_schedule_key(uint64_t stream, uint64_t place);

/* Return how many steps run at the end of a call that does not wait, and in a query. */
unsigned hc_schedule_steps_at_call_end(void);
unsigned hc_schedule_steps_at_query(void);

#endif
