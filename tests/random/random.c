#include "program.h"

/* Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators": splitmix64. */
uint64_t dice_roll(dice *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int dice_below(dice *d, int n)
{
    return (int)(dice_roll(d) % (uint64_t)n);
}

bool dice_percent(dice *d, int percent)
{
    return dice_below(d, 100) < percent;
}

uint32_t scramble(uint64_t x)
{
    dice d = {x};
    return (uint32_t)(dice_roll(&d) >> 32);
}

const char *const way_texts[WAY_COUNT + 1] = {
    WAYS(TEXT_OF) "as its options say",
};

const op_shape op_shapes[OP_KINDS] = {
    [OP_MIX] = {"mix", 2, 1, false, false, false},       [OP_BUMP] = {"bump", 0, 1, true, false, false},
    [OP_PAIR] = {"pair", 1, 2, false, false, true},      [OP_SPLIT] = {"split", 1, 3, false, false, true},
    [OP_NEST] = {"nest", 1, 1, false, false, false},     [OP_ASIDE] = {"aside", 1, 1, false, false, false},
    [OP_AMBIENT] = {"ambient", 0, 1, true, true, false}, [OP_INSPECT] = {"inspect", 1, 1, false, true, false},
    [OP_LISTEN] = {"listen", 1, 1, false, true, false},  [OP_TELL] = {"tell", 1, 1, false, true, true},
};

const char *op_name(op_kind op, bool eager, char *name, size_t bytes)
{
    snprintf(name, bytes, "%s%s", eager && !op_shapes[op].only_eager ? "eager_" : "", op_shapes[op].name);
    return name;
}
