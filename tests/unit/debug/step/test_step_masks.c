/* Step: infinities that are meant, and others. */
#include "tests/support/test.h"
#include "tests/support/tools/finding_support.h"

#include <breakgraph/step.h>
#include <math.h>
#include <string.h>

static int poison; /* whether a call beside the masks holds -inf among other numbers */

/* -inf in every element, or in the first, beside zeros or ones. */
BG_OP(mask, BG_OUT(y), BG_VALUE(float, rest))
{
    float *y = args->y.data;
    TRY_BG(from_cuda(bgk_fill(y, args->rest, N, stream)));
    return from_cuda(bgk_fill(y, -INFINITY, 1, stream));
}

static bg_status mask_and_more(void *user, cudaStream_t stream)
{
    const fixture *f = user;
    TRY_BG(BG_CALL(mask, stream, .y = f->x, .rest = 0));
    TRY_BG(BG_CALL(mask, stream, .y = f->x, .rest = -INFINITY));
    return poison == 0 ? BG_OK : BG_CALL(mask, stream, .y = f->y, .rest = 1);
}

/* A mask is a note, and hides no overflow after it. */
FIXTURE_TEST(test_masks_are_notes)
{
    for (poison = 0; poison < 2; poison++) {
        OWN_GRAPH(graph, capture_of(mask_and_more, f, f->stream, NULL));
        bg_report *report;
        EXPECT_OK(bg_step(graph, f->stream, NULL, NULL, &report));
        if (poison == 0)
            EXPECT_FINDING(report, "inf-origin", "mask#0", .severity = "note");
        else /* notes come last */
            EXPECT_FINDINGS(report, FINDING("inf-origin", "mask#2", .severity = "warning"),
                            FINDING("inf-origin", "mask#0", .severity = "note"));
    }
}
