/* Chooses the order of work by the seed. Seeds alternate between two ways to choose. A random walk gives every
 * candidate the same chance at each step. Priorities delay some streams for long, so that a missing join shows even if
 * many steps lie in between; the priorities change now and then (Burckhardt et al. 2010, "A randomized scheduler with
 * probabilistic guarantees of finding bugs"). */
#include "hostcuda/src/core/core_schedule.h"

enum { STEPS_AN_EPOCH = 24, STEPS_MAX = 64 };

static uint64_t seed, state, epoch;

/* Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators". */
static uint64_t mix_bits(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

static uint64_t next_random(void)
{
    return mix_bits(state += 0x9e3779b97f4a7c15u);
}

static bool is_one_in(unsigned count)
{
    return next_random() % count == 0;
}

void hc_schedule_seed(uint64_t value)
{
    seed = value;
    state = mix_bits(value);
    epoch = next_random();
}

bool hc_schedule_seeded(void)
{
    return seed != 0;
}

static bool is_random_walk(void)
{
    return seed & 1;
}

void hc_schedule_begin_step(void)
{
    if (!is_random_walk() && is_one_in(STEPS_AN_EPOCH))
        epoch = next_random();
}

uint64_t hc_schedule_key(uint64_t stream, uint64_t place)
{
    if (is_random_walk())
        return next_random();
    uint64_t of_stream = mix_bits(epoch ^ mix_bits(stream)), of_place = mix_bits(of_stream ^ mix_bits(place + 1));
    return (of_stream & ~(uint64_t)0xffffffff) | of_place >> 32;
}

/* Each further step has a chance of one half. */
static unsigned random_steps(void)
{
    unsigned steps = 1;
    while (steps < STEPS_MAX && is_one_in(2))
        steps++;
    return steps;
}

/* Depends on the seed: half of the seeds run work only when the program waits, a quarter run it soon, a quarter are in
 * between. */
unsigned hc_schedule_steps_at_call_end(void)
{
    static const unsigned rarity[] = {0, 0, 8, 2};
    unsigned one_of = rarity[mix_bits(seed) % 4];
    return one_of && is_one_in(one_of) ? random_steps() : 0;
}

unsigned hc_schedule_steps_at_query(void)
{
    return is_one_in(4) ? 0 : random_steps();
}
