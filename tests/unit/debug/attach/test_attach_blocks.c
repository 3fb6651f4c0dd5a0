/* Blocks that a program's allocator, or the program itself, tells of: what its graphs' nodes point into. */
#include "debug/attach/checks/block_uses.h"
#include "debug/attach/events/subscribers.h"
#include "debug/attach/events/tracked_graph.h"
#include "debug/attach/memory/blocks.h"
#include "tests/support/tools/finding_support.h"

#include <string.h>

enum { BLOCK = 64 };

typedef struct model {
    cudaGraph_t source;
    bg_graph *graph;
    bg__block_uses *uses;
    bg_report *report;
} model;

/* A graph that copies the second block of the fixture's memory to the first. */
static void begin_model(fixture *f, model *m)
{
    *m = (model){.source = NULL};
    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_CUDA(cudaMemcpyAsync(f->memory, (char *)f->memory + BLOCK, BLOCK, cudaMemcpyDeviceToDevice, f->stream));
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &m->source));
    EXPECT_OK(bg_graph_wrap(&m->graph, m->source, NULL, "theirs"));
    EXPECT_OK(bg__report_create(&m->report, "check", "theirs"));
    EXPECT_OK(bg__block_uses_reset(m->source, &m->uses));
    EXPECT_OK(bg__block_uses_collect(m->graph, m->uses));
}

static void end_model(model *m)
{
    bg__block_uses_free(m->uses);
    bg_report_destroy(m->report);
    bg_graph_destroy(m->graph);
    EXPECT_CUDA(cudaGraphDestroy(m->source));
}

/* kind NULL: there is no finding. */
static void expect_one(const model *m, const char *kind, const char *part)
{
    const bg__tracked_graph graph = {.blocks = m->uses};
    EXPECT_OK(bg__check_blocks.look(&(bg__look){.graph = &graph, .report = m->report}));
    assert_int_equal(bg_report_count(m->report), kind != NULL ? 1 : 0);
    if (kind == NULL)
        return;
    assert_string_equal(finding_of(m->report, 0).kind, kind);
    EXPECT_IN(finding_of(m->report, 0).message, part);
}

static uintptr_t place(const fixture *f, size_t block)
{
    return (uintptr_t)f->memory + block * BLOCK;
}

/* Whether it has moved there. */
static bool allocate_block(const fixture *f, size_t block)
{
    bool moved;
    (void)bg__block_record_alloc(BG__ALLOCATOR_CUPY, place(f, block), BLOCK, &moved);
    return moved;
}

static const bg_site site = {"model.py", 7};

/* The program has what a graph reads somewhere else now: that is a fault when the old memory is freed. */
FIXTURE_TEST(test_moved)
{
    model m;

    (void)allocate_block(f, 1);
    bg__block_set_name("kv cache", place(f, 1), BLOCK);
    begin_model(f, &m);
    bg__block_set_name("kv cache", place(f, 1), BLOCK); /* where it is */
    expect_one(&m, NULL, NULL);
    bg__block_set_name("kv cache", place(f, 4), 2 * BLOCK);
    expect_one(&m, NULL, NULL);
    assert_true(bg__block_record_free(BG__ALLOCATOR_CUPY, place(f, 1), 0, site));
    expect_one(&m, "moved", "an array of 64 bytes");
    end_model(&m);
    assert_false(bg__block_record_free(BG__ALLOCATOR_NAMED, place(f, 1), 0, site)); /* it is only at the other place */
    (void)bg__block_record_free(BG__ALLOCATOR_NAMED, place(f, 4), 0, site);
}

/* It is back at the place that is freed; or the name was an earlier block's. */
FIXTURE_TEST(test_not_moved)
{
    model m;

    (void)allocate_block(f, 1);
    bg__block_set_name("back", place(f, 1), BLOCK);
    begin_model(f, &m);
    bg__block_set_name("back", place(f, 4), BLOCK);
    bg__block_set_name("back", place(f, 1), BLOCK);
    assert_true(bg__block_record_free(BG__ALLOCATOR_CUPY, place(f, 1), 0, site));
    expect_one(&m, "freed", "that was freed after the capture, at model.py:7");
    end_model(&m);

    (void)allocate_block(f, 1); /* the name is still there */
    begin_model(f, &m);
    bg__block_set_name("back", place(f, 4), BLOCK);
    assert_true(bg__block_record_free(BG__ALLOCATOR_CUPY, place(f, 1), 0, site));
    expect_one(&m, "freed", "an array");
    end_model(&m);
    (void)bg__block_record_free(BG__ALLOCATOR_NAMED, place(f, 4), 0, site);
}

/* Names may overlap, and a tensor's may be given to a slice of it: what they name is all there. */
FIXTURE_TEST(test_slices)
{
    model m;

    (void)allocate_block(f, 1);
    bg__block_set_name("layer", place(f, 1), BLOCK);
    begin_model(f, &m);
    bg__block_set_name("layer", place(f, 1) + 16, 16);
    bg__block_set_name("head", place(f, 1), 16);
    bg__block_set_name("layer", place(f, 1), 32);
    bg__block_set_name("layer", place(f, 1) + 48, 16);
    expect_one(&m, NULL, NULL);
    assert_true(bg__block_record_free(BG__ALLOCATOR_CUPY, place(f, 1), 0, site));
    expect_one(&m, "freed", "an array");
    end_model(&m);
    (void)bg__block_record_free(BG__ALLOCATOR_NAMED, place(f, 1), 0, site);
    (void)bg__block_record_free(BG__ALLOCATOR_NAMED, place(f, 1) + 48, 0, site);
}

/* Nobody uses a freed block after its graphs are gone: then it is forgotten, and the next graph has nothing to do with
 * it. */
FIXTURE_TEST(test_forgotten)
{
    model m, other;

    (void)allocate_block(f, 1);
    begin_model(f, &m);
    begin_model(f, &other);
    end_model(&m);
    assert_true(bg__block_record_free(BG__ALLOCATOR_CUPY, place(f, 1), 0, site));
    expect_one(&other, "freed", "an array of 64 bytes");
    assert_true(allocate_block(f, 1));
    end_model(&other);
    (void)bg__block_record_free(BG__ALLOCATOR_CUPY, place(f, 1), 0, site);
    assert_false(allocate_block(f, 1));
    (void)bg__block_record_free(BG__ALLOCATOR_CUPY, place(f, 1), 0, site);
    begin_model(f, &m);
    expect_one(&m, NULL, NULL);
    end_model(&m);
}

/* What a snapshot lacks was freed in a way that nobody told: what the graph has there then is unknown. What was freed
 * while it was taken does not come back. */
FIXTURE_TEST(test_snapshot)
{
    bool moved;
    model m;

    bg__blocks_snapshot_begin();
    bg__blocks_snapshot_add_segment(place(f, 0), 8 * BLOCK, false);
    bg__blocks_snapshot_add_block(BG__ALLOCATOR_PYTORCH, place(f, 1), BLOCK);
    assert_false(bg__blocks_snapshot_end(BG__ALLOCATOR_PYTORCH));
    begin_model(f, &m);
    bg__blocks_snapshot_begin();
    bg__blocks_snapshot_add_segment(place(f, 0), 8 * BLOCK, false);
    assert_true(bg__blocks_snapshot_end(BG__ALLOCATOR_PYTORCH));
    expect_one(&m, NULL, NULL);
    end_model(&m);
    assert_false(bg__block_record_free(BG__ALLOCATOR_PYTORCH, place(f, 1), 0, (bg_site){NULL, 0}));

    (void)bg__block_record_alloc(BG__ALLOCATOR_PYTORCH, place(f, 1), 0, &moved);
    bg__blocks_snapshot_begin();
    bg__blocks_snapshot_add_segment(place(f, 0), 8 * BLOCK, false);
    assert_false(bg__block_record_free(BG__ALLOCATOR_PYTORCH, place(f, 1), 0, (bg_site){NULL, 0}));
    bg__blocks_snapshot_add_block(BG__ALLOCATOR_PYTORCH, place(f, 1), BLOCK);
    assert_false(bg__blocks_snapshot_end(BG__ALLOCATOR_PYTORCH));
    assert_false(bg__block_free_needs_site(BG__ALLOCATOR_PYTORCH, place(f, 1)));
    begin_model(f, &m);
    expect_one(&m, NULL, NULL);
    end_model(&m);
}

/* Another block is freed there than the one that is known: CuPy tells of one thread alone. */
FIXTURE_TEST(test_other_size)
{
    model m;

    for (size_t other = 0; other < 2; other++) {
        (void)allocate_block(f, 1);
        begin_model(f, &m);
        assert_true(bg__block_record_free(BG__ALLOCATOR_CUPY, place(f, 1), BLOCK - 16 * other, (bg_site){NULL, 0}));
        expect_one(&m, other ? NULL : "freed", "an array");
        end_model(&m);
    }
}
