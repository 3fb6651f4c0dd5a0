/* Reads memory after a replay with each pattern, and compares its contents. */
#include "poison.h"

#include <stdlib.h>
#include <string.h>

#include "debug/memory/tensors.h"

/* Whether two floats of `bytes` bytes differ only by rounding, measured in units in the last place. */
static bool is_near(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    uint64_t x = 0, y = 0, steps = bytes == 8 ? 1 << 20 : bytes == 4 ? 1 << 13 : bytes == 2 ? 64 : 0;
    memcpy(&x, a, bytes); /* devices and hosts are little-endian */
    memcpy(&y, b, bytes);
    return x > y ? x - y <= steps : y - x <= steps;
}

static bg_status compare_with_earlier(bg__poison_bytes *bytes, const unsigned char *before, const unsigned char *now)
{
    const size_t size = bytes->element;
    for (size_t i = 0; i < bytes->bytes / size; i++) {
        const unsigned char *a = before + i * size, *b = now + i * size;
        char spread = is_near(a, b, size) ? BG__NEAR : BG__FAR;
        if (memcmp(a, b, size) == 0)
            continue;
        if (!bytes->varies)
            bytes->at = i * size;
        bytes->varies = true;
        if (bytes->spread == NULL)
            bytes->spread = calloc(bytes->bytes / size + 1, 1);
        if (bytes->spread == NULL)
            return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the elements of a tensor");
        if (bytes->spread[i] < spread)
            bytes->spread[i] = spread;
    }
    return BG_OK;
}

bg_status bg__poison_read(bg__poison_bytes *bytes, bg__pattern pattern, cudaStream_t stream)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    unsigned char *now = malloc(bytes->bytes + 1);
    bg_status status;

    if (now == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu bytes of a tensor", bytes->bytes);
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY(bg__copy_and_wait(now, (const void *)bytes->address, bytes->bytes, stream));
    if (bytes->held[pattern] != NULL) {
        BG__TRY(compare_with_earlier(bytes, bytes->held[pattern], now));
    } else {
        bytes->held[pattern] = now;
        now = NULL;
    }
done:
    bg__relaxed_mode_end(relaxed);
    free(now);
    return status;
}

void bg__poison_free(bg__poison_bytes *bytes)
{
    for (int i = 0; i < BG__PATTERNS; i++)
        free(bytes->held[i]);
    free(bytes->spread);
    *bytes = (bg__poison_bytes){0};
}

/* Checks every byte. A short element that was copied may look like the pattern at its own address. */
bool bg__poison_is_unwritten(const bg__poison_bytes *bytes, size_t element)
{
    uintptr_t begin = bytes->address + element * bytes->element;

    for (size_t i = element * bytes->element; i < (element + 1) * bytes->element; i++)
        for (int p = 0; p < BG__PATTERNS; p++)
            if (bytes->held[p][i] != bg__pattern_byte((bg__pattern)p, bytes->address + i))
                return false;
    return bg__spans_overlap(bytes->poisoned, begin, begin + bytes->element);
}

bool bg__poison_differs(const bg__poison_bytes *bytes, size_t element)
{
    const size_t at = element * bytes->element;
    const char spread = bytes->spread != NULL ? bytes->spread[element] : BG__SAME;
    bool same = true;
    for (int p = 1; p < BG__PATTERNS && spread != BG__FAR; p++)
        same &= spread == BG__NEAR ? is_near(bytes->held[0] + at, bytes->held[p] + at, bytes->element)
                                   : memcmp(bytes->held[0] + at, bytes->held[p] + at, bytes->element) == 0;
    return !same;
}

bg__poison_count bg__poison_compare(const bg__poison_bytes *bytes)
{
    bg__poison_count count = {.elements = bytes->bytes / bytes->element};
    for (size_t i = 0; i < count.elements; i++) {
        if (!bg__poison_differs(bytes, i))
            continue;
        if (bg__poison_is_unwritten(bytes, i))
            count.unwritten++;
        else
            count.differing++;
    }
    return count;
}

bg_status bg__poison_fill_memory(const bg__poison *poison, bg__pattern pattern)
{
    bg_status status;
    BG__TRY(bg__snapshot_restore(&poison->image, NULL, poison->stream));
    BG__TRY(bg__pattern_fill(pattern, &poison->poisoned, poison->stream));
    if (poison->check != NULL)
        BG__TRY(poison->check->fill(poison, pattern));
done:
    return status;
}

bg_status bg__poison_end(bg__poison *poison, bg_status status, bg_report **report)
{
    char text[1024];
    bg_status restored;

    snprintf(text, sizeof text, "%s", bg_last_error());
    restored = bg__snapshot_restore(&poison->image, NULL, poison->stream);
    if (status != BG_OK)
        bg__error_set_text(text);
    else
        status = restored;
    if (status == BG_OK)
        *report = poison->report;
    else
        bg_report_destroy(poison->report);
    bg__snapshot_free(&poison->image);
    bg__spans_free(&poison->poisoned);
    bg__footprint_free(&poison->footprint);
    return status;
}

void bg__poison_report_unwritten(const bg__poison *poison, const bg__call *call, const char *name,
                                 const bg__poison_bytes *bytes, const bg__poison_count *count)
{
    size_t first = 0;
    while (first < count->elements && !bg__poison_is_unwritten(bytes, first))
        first++;
    bg__report_add(poison->report, "unwritten-output", BG_FAULT, call, (const void *)bytes->address,
                   "write all of the output, or declare it BG_INOUT if the op keeps a part of it",
                   "%s%s%s is not fully written: %zu of its %zu elements keep the contents from before the replay, "
                   "the first at index %zu",
                   name, call != NULL ? " of " : "", call != NULL ? call->name : "", count->unwritten, count->elements,
                   first);
}
