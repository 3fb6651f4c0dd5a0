#include "hostcuda/src/memory/memory_modes.h"

#include "hostcuda/src/kernel/grid_state.h"

#include <stdio.h>
#include <string.h>

unsigned hc_memory_modes;

static unsigned mode_of(const char *word, size_t length)
{
    static const struct {
        const char *name;
        unsigned mode;
    } modes[] = {{"poison", HC_POISON}, {"fence", HC_FENCE}, {"reuse", HC_REUSE}, {"never", HC_NEVER_REUSE}};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strlen(modes[i].name) == length && !memcmp(modes[i].name, word, length))
            return modes[i].mode;
    return 0;
}

bool hc_memory_modes_read(const char *text)
{
    unsigned modes = 0;
    for (const char *word = text; word && *word;) {
        size_t length = strcspn(word, ",");
        unsigned mode = mode_of(word, length);
        if (!mode) {
            fprintf(stderr,
                    "hostcuda: HOSTCUDA_MEMORY has the word \"%.*s\"; allowed are poison, fence, reuse, never\n",
                    (int)length, word);
            return false;
        }
        modes |= mode;
        word += length;
        word += *word == ',';
    }
    if (modes & HC_REUSE && modes & HC_NEVER_REUSE) {
        fprintf(stderr, "hostcuda: HOSTCUDA_MEMORY has reuse and never, which exclude each other; allowed are "
                        "poison, fence, and one of reuse and never\n");
        return false;
    }
    hc_memory_modes = modes;
    hc_shared_fenced = modes & HC_FENCE;
    return true;
}
