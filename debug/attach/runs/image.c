#include "image.h"

#include <stdio.h>
#include <string.h>

#include "idle.h"
#include "serial.h"

/* Small pages tell apart what nearby tensors hold; large ones keep the digests of much memory small. */
static const size_t SMALL_PAGE = 512, LARGE_PAGE = (size_t)64 << 10, SMALL_REACH = (size_t)1 << 30;

static size_t limit; /* bytes; 0: half of what is free */

bg_status bg__image_begin(void)
{
    double mebibytes = 0;
    bg_status status;
    BG__TRY(bg__env_number("BG_ATTACH_SNAPSHOT_LIMIT", &mebibytes));
    limit = (size_t)mebibytes << 20;
done:
    return status;
}

static bg_status add_watched(bg__image *image, const bg__spans *spans)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < spans->count; i++)
        BG__TRY(bg__spans_add_rest(&image->watched, spans->list[i].begin, spans->list[i].end, &image->reach));
done:
    return status;
}

static bg_status take_reach(bg__image *image, const bg__nodes *nodes, cudaStream_t stream)
{
    bg__reachable reached = {0};
    bg_status status;

    BG__TRY(bg__reachable_collect(&reached, nodes, stream));
    memcpy(image->obstacle, reached.obstacle, sizeof image->obstacle);
    BG__TRY(bg__spans_add_all(&image->reach, &reached.memory));
    BG__TRY(add_watched(image, &reached.host));
    BG__TRY(add_watched(image, &reached.before));
    if (reached.host.count > 0 && image->obstacle[0] == '\0' && bg__serial_is_seen(nodes))
        snprintf(
            image->obstacle, sizeof image->obstacle,
            "it has host functions or records events, and its kernels reach pinned host memory, which would not be "
            "restored");
done:
    bg__reachable_free(&reached);
    return status;
}

bg_status bg__image_look(bg__image *image, const bg__nodes *nodes, cudaStream_t stream)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bool idle;
    bg_status status;

    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY(bg__wait_until_idle(&idle)); /* other streams may still write what is restored later */
    if (!idle)
        snprintf(
            image->obstacle, sizeof image->obstacle,
            "work from before its launch had not ended after %d s: it may wait for what the program does after the "
            "launch",
            BG__IDLE_LIMIT);
    else
        BG__TRY(take_reach(image, nodes, stream));
    if (image->obstacle[0] != '\0')
        goto done;
    image->page = bg__spans_bytes(&image->reach) <= SMALL_REACH ? SMALL_PAGE : LARGE_PAGE;
    BG__TRY(bg__digests_compute(&image->digests, &image->reach, image->page, stream));
    BG__TRY(bg__digests_compute(&image->around, &image->watched, LARGE_PAGE, stream));
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

bg_status bg__image_copy(bg__image *image, const bg__spans *blocks, bool *fits, cudaStream_t stream)
{
    size_t free_bytes, total;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaMemGetInfo(&free_bytes, &total));
    *fits = bg__spans_bytes(blocks) <= (limit > 0 && limit < free_bytes ? limit : free_bytes / 2);
    if (*fits)
        BG__TRY(bg__snapshot_add_all(&image->copy, blocks, stream));
    for (size_t i = 0; i < image->copy.count; i++)
        if (image->copy.list[i].generation == 0) /* bg__snapshot_restore would take it for memory that was freed */
            BG__FAIL(BG_ERROR_UNSUPPORTED, "CUDA does not know the allocation at %p, which could not be restored",
                     (const void *)image->copy.list[i].begin);
done:
    return status;
}

bg_status bg__image_changed_blocks(const bg__image *image, bg__spans *blocks, cudaStream_t stream)
{
    bg__digests now = {0};
    bg__spans changed = {0};
    bg_status status;

    BG__TRY(bg__digests_compute(&now, &image->reach, image->page, stream));
    BG__TRY(bg__digests_compare(&image->digests, &now, &image->reach, &changed));
    for (size_t i = 0; i < image->reach.count; i++)
        if (bg__spans_overlap(&changed, image->reach.list[i].begin, image->reach.list[i].end))
            BG__TRY(bg__spans_add(blocks, image->reach.list[i].begin, image->reach.list[i].end));
done:
    bg__digests_free(&now);
    bg__spans_free(&changed);
    return status;
}

bg_status bg__image_contains_changes(const bg__image *image, const bg__digests *now, bool *contained)
{
    bg__spans changed = {0};
    bg_status status;

    *contained = true;
    BG__TRY(bg__digests_compare(&image->digests, now, &image->reach, &changed));
    for (size_t i = 0; i < changed.count && *contained; i++)
        *contained = bg__snapshot_has(&image->copy, changed.list[i].begin, changed.list[i].end);
done:
    bg__spans_free(&changed);
    return status;
}

bg_status bg__image_is_watched_changed(const bg__image *image, bool *changed, cudaStream_t stream)
{
    bg__digests now = {0};
    bg__spans differing = {0};
    bg_status status;

    BG__TRY(bg__digests_compute(&now, &image->watched, LARGE_PAGE, stream));
    BG__TRY(bg__digests_compare(&image->around, &now, &image->watched, &differing));
    *changed = differing.count > 0;
done:
    bg__digests_free(&now);
    bg__spans_free(&differing);
    return status;
}

bg_status bg__image_restore(const bg__image *image, cudaStream_t stream)
{
    return bg__snapshot_restore(&image->copy, NULL, stream);
}

void bg__image_free(bg__image *image)
{
    bg__spans_free(&image->reach);
    bg__snapshot_free(&image->copy);
    bg__digests_free(&image->digests);
    bg__spans_free(&image->watched);
    bg__digests_free(&image->around);
}
