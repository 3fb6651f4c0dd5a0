/* breakgraph.hpp: lambdas as ops, whose closures graphs own; exceptions that become errors; objects. */
#include <breakgraph/breakgraph.hpp>

#include "kernels/model/kernels.h"

extern "C" {
#include "tests/support/support.h"
}

#include <functional>
#include <thread>

namespace
{

/* Counts the living copies of what holds it. */
struct counted {
    static int alive;
    counted()
    {
        alive++;
    }
    counted(const counted &)
    {
        alive++;
    }
    ~counted()
    {
        alive--;
    }
};
int counted::alive;

/* A test with the fixture, which finds no copy of another test's. */
#define CPP_TEST(name)                                                                                                 \
    void name(fixture *f);                                                                                             \
    void run_##name(void **state)                                                                                      \
    {                                                                                                                  \
        assert_int_equal(counted::alive, 0);                                                                           \
        name(static_cast<fixture *>(*state));                                                                          \
    }                                                                                                                  \
    __attribute__((constructor)) void register_##name()                                                                \
    {                                                                                                                  \
        register_test(#name, run_##name, fixture_setup, fixture_teardown, __LINE__);                                   \
    }                                                                                                                  \
    void name([[maybe_unused]] fixture *f)

cudaError_t scale(const bg_tensor &y, const bg_tensor &x, float factor, cudaStream_t stream)
{
    return bgk_scale(static_cast<float *>(y.data), static_cast<const float *>(x.data), factor, N, stream);
}

bg_graph_info info_of(const bg::graph &graph)
{
    return info_of(graph.get());
}

/* ---- closures ---- */

/* z = 6x; all that the closures hold is local here. */
__attribute__((noinline)) void capture_locals(fixture *f, bg::graph &graph)
{
    counted here;
    float factor = 3;
    bg_tensor x = f->x, y = f->y, z = f->z;
    auto body = [=](cudaStream_t stream) {
        (void)here;
        EXPECT_CUDA(cudaStreamSynchronize(stream)); /* which no capture allows */
        return scale(y, x, factor, stream);
    };
    EXPECT_OK(graph.capture(f->stream, [&](cudaStream_t stream) {
        bg::eager(stream, "cpp_body", {bg::in(x), bg::out(y)}, body);
        bg::op(stream, "cpp_double", {bg::in(y), bg::out(z)},
               [=](cudaStream_t on) { return (void)here, scale(z, y, 2, on); });
    }));
}

__attribute__((noinline)) void overwrite_stack()
{
    volatile char stack[16384];
    for (volatile char &c : stack)
        c = 0x55;
}

CPP_TEST(test_frame_is_gone)
{
    bg::graph graph;
    bg::report report;

    capture_locals(f, graph);
    overwrite_stack();
    assert_int_equal(counted::alive, 2);
    assert_int_equal(info_of(graph).breaks, 1);
    for (int i = 1; i < 4; i++) {
        put(&f->x, static_cast<float>(i));
        EXPECT_OK(graph.replay(f->stream));
        EXPECT_VALUE(&f->z, 6 * static_cast<float>(i));
    }
    EXPECT_OK(graph.check(BG_CHECK_ALL, report));
    assert_int_equal(report.count(), 0);
    graph.reset();
    assert_int_equal(counted::alive, 0);
}

__attribute__((noinline)) void capture_reference(fixture *f, bg::graph &graph)
{
    volatile char room[4096] = {0};
    float factor = room[0] + 3.0F;
    EXPECT_OK(graph.capture(f->stream, [&](cudaStream_t stream) {
        bg::eager(stream, "cpp_reference", {f->x}, [&](cudaStream_t on) { return scale(f->x, f->x, factor, on); });
    }));
}

CPP_TEST(test_reference_dangles)
{
    bg::graph graph;
    bg::report report;

    capture_reference(f, graph);
    EXPECT_OK(graph.check(BG_CHECK_ADDRESSES, report));
    assert_int_equal(report.count(), 1);
    assert_string_equal(report[0].kind, "dangling");
    assert_string_equal(report[0].call, "cpp_reference#0");
    assert_non_null(strstr(report[0].file, "test_cpp.cpp"));
}

/* A lambda that can be moved alone, a function object, a function, a const lambda. */
cudaError_t double_nothing(cudaStream_t)
{
    return cudaSuccess;
}

CPP_TEST(test_kinds_of_bodies)
{
    bg::graph graph;
    int runs = 0;
    auto unique = std::make_unique<counted>();
    std::function<void(cudaStream_t)> function = [&runs](cudaStream_t) { runs++; };
    const auto constant = [&runs](cudaStream_t) { runs++; };

    EXPECT_OK(graph.capture(f->stream, [&](cudaStream_t stream) {
        bg::eager(stream, "cpp_unique", {},
                  [&runs, held = std::move(unique)](cudaStream_t) { runs += held != nullptr; });
        bg::eager(stream, "cpp_function", {}, function);
        bg::eager(stream, "cpp_constant", {}, constant);
        bg::eager(stream, "cpp_free", {}, double_nothing);
        return bg::eager(stream, "cpp_pointer", {}, &double_nothing);
    }));
    assert_int_equal(runs, 3);
    assert_int_equal(counted::alive, 1);
    EXPECT_OK(graph.replay(f->stream));
    assert_int_equal(runs, 6);
    assert_int_equal(info_of(graph).breaks, 5);
    graph.reset();
    assert_int_equal(counted::alive, 0);
}

/* A closure that changes is one object, in all replays. */
CPP_TEST(test_mutable)
{
    bg::graph graph;
    int seen = 0;
    auto body = [count = 0, &seen](cudaStream_t) mutable { seen = ++count; };

    EXPECT_OK(graph.capture(f->stream, [&](cudaStream_t stream) { bg::eager(stream, "cpp_mutable", {}, body); }));
    for (int i = 2; i < 5; i++) {
        EXPECT_OK(graph.replay(f->stream));
        assert_int_equal(seen, i);
    }
    EXPECT_OK(bg::eager(f->stream, "cpp_mutable", {}, body)); /* the caller's, which the capture did not change */
    assert_int_equal(seen, 1);
}

/* ---- tensors ---- */

/* Each output without memory gets some, which the next call reads. */
CPP_TEST(test_bridges)
{
    std::vector<bg::operand> operands;
    bg::graph graph;

    auto forward = [&](cudaStream_t stream) {
        bg_tensor between = bg_tensor_1d(nullptr, BG_F32, N);
        bg::eager(stream, "cpp_first", {bg::in(f->x), bg::out(between)},
                  [](bg_tensor *t, cudaStream_t on) { return scale(t[1], t[0], 2, on); });
        assert_non_null(between.data);
        operands = {bg::in(between), bg::out(f->z)};
        bg::op(stream, "cpp_second", operands, [](bg_tensor *t, cudaStream_t on) { return scale(t[1], t[0], 5, on); });
    };
    put(&f->x, 1);
    forward(f->stream); /* plain calls */
    EXPECT_VALUE(&f->z, 10);
    put(&f->x, 2);
    EXPECT_OK(bg::forward_run(f->stream, forward));
    EXPECT_VALUE(&f->z, 20);
    EXPECT_OK(graph.capture(f->stream, forward));
    put(&f->x, 3);
    EXPECT_OK(graph.replay(f->stream));
    EXPECT_VALUE(&f->z, 30);
    EXPECT_OK(bg_override_eager("cpp_second,!cpp_first"));
    EXPECT_OK(graph.capture(f->stream, forward));
    assert_int_equal(info_of(graph).breaks, 1);
    EXPECT_VALUE(&f->z, 30);
}

CPP_TEST(test_too_many_operands)
{
    std::vector<bg::operand> operands(BG_OPERANDS_MAX + 1, f->x);
    auto body = [](cudaStream_t) {};
    EXPECT_FAILS(bg::eager(f->stream, "cpp_many", operands, body), BG_ERROR_INVALID_ARGUMENT, "0 to 32 are allowed");
    operands.pop_back();
    EXPECT_OK(bg::eager(f->stream, "cpp_many", operands, body));
}

/* ---- exceptions ---- */

enum thrown { NOTHING, EXCEPTION, NO_MEMORY, NUMBER, ERROR_OF_OWN, CUDA_ERROR };

cudaError_t throw_it(thrown which)
{
    switch (which) {
    case EXCEPTION: throw std::runtime_error("no tokens left");
    case NO_MEMORY: throw std::bad_alloc();
    case NUMBER: throw 7;
    case ERROR_OF_OWN: throw bg::error(BG_ERROR_NOT_FOUND, "no such adapter");
    case CUDA_ERROR: return cudaErrorInvalidValue;
    default: return cudaSuccess;
    }
}

const struct {
    thrown which;
    bg_status status;
    const char *text;
} throws[] = {
    {EXCEPTION, BG_ERROR_OP, "the body failed: no tokens left"},
    {NO_MEMORY, BG_ERROR_OUT_OF_MEMORY, "bad_alloc"},
    {NUMBER, BG_ERROR_OP, "it threw an object that is not a std::exception"},
    {ERROR_OF_OWN, BG_ERROR_NOT_FOUND, "the body failed: no such adapter"},
    {CUDA_ERROR, BG_ERROR_CUDA, "the body failed: cudaErrorInvalidValue"},
};

/* In a capture, captured and eager; in a replay; in an eager pass; outside. */
CPP_TEST(test_body_throws)
{
    for (const auto &row : throws) {
        thrown now = row.which;
        bg::graph graph;
        auto eager = [&](cudaStream_t stream) {
            bg::eager(stream, "cpp_throws", {f->x}, [&](cudaStream_t) { return throw_it(now); });
        };
        auto captured = [&](cudaStream_t stream) {
            bg::op(stream, "cpp_throws_inline", {f->x}, [&](cudaStream_t) { return throw_it(now); });
        };
        EXPECT_FAILS(graph.capture(f->stream, eager), row.status, row.text, "op cpp_throws, call cpp_throws#0 at ",
                     "test_cpp.cpp:");
        assert_false(static_cast<bool>(graph));
        expect_usable(f, f->stream);
        EXPECT_FAILS(graph.capture(f->stream, captured), row.status, row.text);
        expect_usable(f, f->stream);
        EXPECT_FAILS(bg::forward_run(f->stream, eager), row.status, row.text);
        now = NOTHING;
        EXPECT_OK(graph.capture(f->stream, eager));
        now = row.which;
        EXPECT_FAILS(graph.replay(f->stream), row.status, row.text, "call cpp_throws#0");
        now = NOTHING;
        EXPECT_OK(graph.replay(f->stream));
    }
}

CPP_TEST(test_forward_throws)
{
    bg::graph graph;

    EXPECT_STATUS(graph.capture(f->stream, [](cudaStream_t) { throw_it(EXCEPTION); }), BG_ERROR_OP);
    EXPECT_ERROR("the forward function failed: no tokens left");
    expect_usable(f, f->stream);
    EXPECT_STATUS(bg::forward_run(f->stream, [](cudaStream_t) { throw_it(NUMBER); }), BG_ERROR_OP);
    EXPECT_ERROR("the forward function failed: it threw");
    /* What check() throws is the first failure, in its own words. */
    EXPECT_STATUS(graph.capture(f->stream,
                                [&](cudaStream_t stream) {
                                    bg::check(bg::eager(stream, "cpp_fails", {},
                                                        [](cudaStream_t) { throw std::out_of_range("row 9"); }));
                                    fail_msg("check did not throw");
                                }),
                  BG_ERROR_OP);
    EXPECT_ERROR("op cpp_fails, call cpp_fails#0 at ");
    assert_null(strstr(bg_last_error(), "the forward function"));
    expect_usable(f, f->stream);
}

CPP_TEST(test_check_throws)
{
    int caught = 0;
    bg::check(BG_OK);
    try {
        bg::check(bg::eager(f->stream, "not/a/name", {}, [](cudaStream_t) {}));
    } catch (const bg::error &e) {
        caught++;
        assert_int_equal(e.status(), BG_ERROR_INVALID_ARGUMENT);
        assert_string_equal(e.what(), bg_last_error());
        assert_non_null(strstr(e.what(), "test_cpp.cpp:"));
    }
    assert_int_equal(caught, 1);
}

struct uncopyable_once : counted {
    uncopyable_once() = default;
    uncopyable_once(const uncopyable_once &other) : counted(other)
    {
        throw std::runtime_error("cannot be copied now");
    }
    void operator()(cudaStream_t) const
    {
    }
};

CPP_TEST(test_copy_throws)
{
    bg::graph graph;
    uncopyable_once body;

    EXPECT_OK(bg::eager(f->stream, "cpp_uncopyable", {}, body)); /* no copy */
    EXPECT_STATUS(graph.capture(f->stream, [&](cudaStream_t s) { bg::eager(s, "cpp_uncopyable", {}, body); }),
                  BG_ERROR_OP);
    EXPECT_ERROR("op cpp_uncopyable, call cpp_uncopyable#0 at ");
    EXPECT_ERROR("the copy of the closure failed: cannot be copied now");
    EXPECT_FAILS(graph.capture(f->stream, body), BG_ERROR_OP, "the copy of the forward function failed");
    assert_int_equal(counted::alive, 1);
    expect_usable(f, f->stream);
}

/* Ops with a macro, too. */
BG_EAGER_OP(cpp_macro, BG_INOUT(x), BG_VALUE(thrown, which))
{
    return throw_it(args->which) == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

CPP_TEST(test_macro_throws)
{
    bg::graph graph;
    thrown which = EXCEPTION;
    auto forward = [&](cudaStream_t stream) { return BG_CALL(cpp_macro, stream, .x = f->x, .which = which); };

    EXPECT_FAILS(graph.capture(f->stream, forward), BG_ERROR_OP, "op cpp_macro, call cpp_macro#0 at ",
                 "the body failed: no tokens left");
    which = NUMBER;
    EXPECT_FAILS(forward(f->stream), BG_ERROR_OP, "it threw an object that is not a std::exception");
    expect_usable(f, f->stream);
}

/* Functions given to bg_eager, as in C, too. */
CPP_TEST(test_function_throws)
{
    bg::graph graph;
    thrown which = EXCEPTION;
    auto function = [](void *user, cudaStream_t) {
        return throw_it(*static_cast<thrown *>(user)) == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
    };
    auto forward = [&](cudaStream_t stream) { return bg_eager(stream, "cpp_function", function, &which); };

    EXPECT_STATUS(forward(f->stream), BG_ERROR_OP);
    EXPECT_FAILS(graph.capture(f->stream, forward), BG_ERROR_OP, "op cpp_function, call cpp_function#0 at ",
                 "the body failed: no tokens left");
    which = NOTHING;
    EXPECT_OK(graph.capture(f->stream, forward));
    which = NUMBER;
    EXPECT_FAILS(graph.replay(f->stream), BG_ERROR_OP, "it threw an object that is not a std::exception");
    assert_int_equal(bg_current_phase(), BG_PHASE_PLAIN);
    which = NOTHING;
    EXPECT_OK(graph.replay(f->stream));
    EXPECT_STATUS(bg_eager(f->stream, "cpp_function", nullptr, nullptr), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("the function of cpp_function is NULL");
    expect_usable(f, f->stream);
}

/* No throw is a success. */
CPP_TEST(test_throws_ok)
{
    auto body = [](cudaStream_t) { throw bg::error(BG_OK, "all is well"); };
    EXPECT_STATUS(bg::eager(f->stream, "cpp_throws_ok", {}, body), BG_ERROR_OP);
    EXPECT_ERROR("the body failed: all is well");
}

bool ran_plainly;
void run_plainly(cudaStream_t)
{
    ran_plainly = true;
}

CPP_TEST(test_function_pointers)
{
    void (*none)(cudaStream_t) = nullptr;
    bg::graph graph;

    EXPECT_OK(bg::forward_run(f->stream, run_plainly));
    assert_true(ran_plainly);
    EXPECT_OK(graph.capture(f->stream, run_plainly));
    EXPECT_STATUS(bg::eager(f->stream, "cpp_null", {}, none), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("the function of cpp_null is NULL");
    EXPECT_STATUS(graph.capture(f->stream, [=](cudaStream_t s) { bg::op(s, "cpp_null_op", {}, none); }),
                  BG_ERROR_INVALID_ARGUMENT);
    EXPECT_STATUS(bg::forward_run(f->stream, none), BG_ERROR_INVALID_ARGUMENT);
    EXPECT_ERROR("the forward function failed: the function is NULL");
    EXPECT_STATUS(graph.capture(f->stream, none), BG_ERROR_INVALID_ARGUMENT);
    assert_false(static_cast<bool>(graph));
    expect_usable(f, f->stream);
}

/* ---- objects ---- */

static_assert(!std::is_copy_constructible_v<bg::graph> && std::is_nothrow_move_constructible_v<bg::graph>, "graph");
static_assert(!std::is_copy_assignable_v<bg::runner> && std::is_nothrow_move_assignable_v<bg::runner>, "runner");
static_assert(sizeof(bg::capture) == sizeof(bg_capture *), "capture");

CPP_TEST(test_objects)
{
    bg::graph graph, other, &same = graph;
    bg::report report;

    EXPECT_OK(graph.capture(f->stream, [held = counted()](cudaStream_t) { (void)held; }));
    assert_int_equal(counted::alive, 1); /* the graph may run it again */
    other = std::move(graph);
    assert_false(static_cast<bool>(graph));
    assert_true(static_cast<bool>(other));
    graph = bg::graph(other.release());
    assert_null(other.get());
    graph = std::move(same); /* itself */
    EXPECT_OK(graph.replay(f->stream));
    EXPECT_OK(bg_check(graph.get(), BG_CHECK_ALL, report.out()));
    EXPECT_OK(graph.check(BG_CHECK_ALL, report));
    assert_int_equal(report.count(), 0);
    try {
        (void)report[0];
        fail_msg("there is a finding");
    } catch (const bg::error &e) {
        assert_int_equal(e.status(), BG_ERROR_NOT_FOUND);
    }
    bg_graph_destroy(graph.release()); /* with what it owns */
    assert_int_equal(counted::alive, 0);
    EXPECT_STATUS(graph.replay(f->stream), BG_ERROR_INVALID_ARGUMENT);
}

CPP_TEST(test_capture)
{
    bg::graph graph;
    bg_graph_info info = BG_GRAPH_INFO_INIT;

    try {
        bg::capture capture;
        bg::check(capture.begin(f->stream));
        bg::eager(f->stream, "cpp_held", {}, [held = counted()](cudaStream_t) { (void)held; });
        assert_int_equal(counted::alive, 1);
        throw std::runtime_error("leaves");
    } catch (const std::runtime_error &e) {
        assert_string_equal(e.what(), "leaves");
    }
    assert_int_equal(counted::alive, 0);
    expect_usable(f, f->stream);
    {
        bg::capture capture;
        EXPECT_OK(capture.begin(f->stream));
        EXPECT_OK(bg::eager(f->stream, "cpp_held", {}, [held = counted()](cudaStream_t) { (void)held; }));
        EXPECT_OK(capture.end(graph));
        assert_null(capture.get());
    }
    EXPECT_OK(graph.info(info));
    assert_int_equal(info.breaks, 1);
}

/* Notes the phase that it is destroyed in. */
struct phase_noter {
    bg_phase *noted;
    explicit phase_noter(bg_phase *to) : noted(to)
    {
    }
    phase_noter(const phase_noter &) = delete;
    phase_noter &operator=(const phase_noter &) = delete;
    ~phase_noter()
    {
        *noted = bg_current_phase();
    }
};

/* end() destroys the old graph, which may free memory, outside the capture. */
CPP_TEST(test_end_in_place)
{
    bg_phase noted = BG_PHASE_CAPTURE;
    bg::graph graph;
    bg::capture capture;

    EXPECT_OK(graph.capture(f->stream, [&](cudaStream_t s) {
        bg::eager(s, "cpp_noter", {}, [held = std::make_shared<phase_noter>(&noted)](cudaStream_t) { (void)held; });
    }));
    EXPECT_OK(capture.begin(f->stream));
    EXPECT_OK(capture.end(graph));
    assert_int_equal(noted, BG_PHASE_PLAIN);
    assert_true(static_cast<bool>(graph));
}

/* What forward puts into the object is destroyed, as the graph that was there before is. */
CPP_TEST(test_capture_uses_graph)
{
    cudaGraph_t source = nullptr;
    bg::graph graph;
    auto forward = [&](cudaStream_t) {
        assert_false(static_cast<bool>(graph));
        bg::check(graph.wrap(source));
        bg::check(bg_graph_own(graph.get(), new counted, [](void *held) { delete static_cast<counted *>(held); }));
        assert_int_equal(counted::alive, 1);
    };

    EXPECT_CUDA(cudaGraphCreate(&source, 0));
    EXPECT_OK(graph.capture(f->stream, [](cudaStream_t) {}));
    EXPECT_OK(graph.capture(f->stream, forward));
    assert_int_equal(counted::alive, 0);
    assert_true(static_cast<bool>(graph));
    EXPECT_STATUS(graph.capture(f->stream,
                                [&](cudaStream_t s) {
                                    forward(s);
                                    throw 1;
                                }),
                  BG_ERROR_OP);
    assert_int_equal(counted::alive, 0);
    assert_false(static_cast<bool>(graph));
    EXPECT_CUDA(cudaGraphDestroy(source));
}

/* A const tensor without memory: the buffer is the body's. */
CPP_TEST(test_out_of_const)
{
    const bg_tensor none = bg_tensor_1d(nullptr, BG_F32, N);
    bool had_memory = false;
    EXPECT_OK(bg::eager(f->stream, "cpp_const_out", {bg::out(none)},
                        [&](bg_tensor *t, cudaStream_t) { had_memory = t[0].data != nullptr; }));
    assert_true(had_memory);
    assert_null(none.data);
}

CPP_TEST(test_wrap)
{
    cudaGraph_t source = nullptr;
    bg::graph graph;

    EXPECT_CUDA(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal));
    EXPECT_CUDA(scale(f->y, f->x, 2, f->stream));
    EXPECT_CUDA(cudaStreamEndCapture(f->stream, &source));
    EXPECT_OK(graph.wrap(source));
    put(&f->x, 3);
    EXPECT_OK(graph.replay(f->stream));
    EXPECT_VALUE(&f->y, 6);
    graph.reset();
    EXPECT_CUDA(cudaGraphDestroy(source));
}

CPP_TEST(test_runner)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_batch batch = {};
    bool throws_now = false;
    int64_t rows[] = {0};
    bg_tensor x, y;
    {
        bg::runner runner;
        config.schedule = "2,4";
        config.max_tokens = 4;
        EXPECT_OK(runner.create(
            config, f->stream, [&, held = counted()](const bg_forward_context &context, cudaStream_t stream) {
                if (throws_now)
                    throw std::runtime_error("not this batch");
                auto count = static_cast<size_t>(context.padded_tokens);
                return (void)held,
                       bgk_scale(static_cast<float *>(y.data), static_cast<const float *>(x.data), 2, count, stream);
            }));
        assert_int_equal(counted::alive, 1);
        EXPECT_OK(bg_runner_add_input(runner.get(), "x", BG_F32, 1, rows, BG_PAD_ZERO, 0, &x));
        EXPECT_OK(bg_runner_add_output(runner.get(), "y", BG_F32, 1, rows, &y));
        EXPECT_OK(runner.capture());
        batch.tokens = 3;
        EXPECT_OK(runner.run(batch));
        batch.tokens = 5; /* eagerly */
        EXPECT_OK(runner.run(batch));
        throws_now = true;
        EXPECT_FAILS(runner.run(batch), BG_ERROR_OP, "the forward function failed: not this batch");
        batch.tokens = 3;
        EXPECT_OK(runner.run(batch)); /* a graph, which does not call it */
        bg::runner moved = std::move(runner);
        EXPECT_STATUS(runner.run(batch), BG_ERROR_INVALID_ARGUMENT);
        EXPECT_OK(moved.run(batch));
        assert_int_equal(counted::alive, 1);
    }
    assert_int_equal(counted::alive, 0);
}

/* BG_DEBUG=forward: each replay runs what capture() was given, which the graph owns. */
CPP_TEST(test_forward_mode)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bg::graph graph;

    options.debug = BG_DEBUG_FORWARD;
    [&] {
        bg_tensor x = f->x, z = f->z;
        counted held;
        EXPECT_OK(graph.capture(
            f->stream,
            [=](cudaStream_t stream) {
                (void)held;
                bg::eager(stream, "cpp_forward", {bg::in(x), bg::out(z)},
                          [=](cudaStream_t on) { return scale(z, x, 7, on); });
            },
            &options));
    }();
    overwrite_stack();
    assert_int_equal(counted::alive, 1);
    put(&f->x, 2);
    EXPECT_OK(graph.replay(f->stream));
    EXPECT_VALUE(&f->z, 14);
    graph.reset();
    assert_int_equal(counted::alive, 0);
}

CPP_TEST(test_in_threads)
{
    std::vector<std::thread> threads;
    cudaStream_t streams[] = {f->stream, f->other};

    for (cudaStream_t stream : streams)
        threads.emplace_back([stream] {
            for (int i = 0; i < 20; i++) {
                bg::graph graph;
                int runs = 0;
                EXPECT_OK(graph.capture(stream, [&](cudaStream_t s) {
                    bg::eager(s, "cpp_thread", {}, [&runs](cudaStream_t) { runs++; });
                }));
                EXPECT_OK(graph.replay(stream));
                assert_int_equal(runs, 2);
            }
        });
    for (std::thread &thread : threads)
        thread.join();
}

} /* namespace */
