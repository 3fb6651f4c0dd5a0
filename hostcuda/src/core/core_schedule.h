/* In what order queued work runs. Seed 0: the order of issue. Any other seed picks, at each step, among all that could
 * run, and decides when work runs at all. Nothing here depends on addresses or time: a seed replays exactly. */
#ifndef HOSTCUDA_SCHEDULE_H
#define HOSTCUDA_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/* Begins the seed's sequence of choices. */
void hc_schedule_seed(uint64_t seed);
bool hc_schedule_seeded(void);

/* One step of a seeded order: then, of the candidates, the one whose key is greatest runs. */
void hc_schedule_step(void);
uint64_t hc_schedule_key(uint64_t stream, uint64_t place);

/* How many steps run at the end of a call that waits for nothing, and at a question. */
unsigned hc_schedule_early(void);
unsigned hc_schedule_asked(void);

#endif
