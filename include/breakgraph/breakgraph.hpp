/* breakgraph for C++: ops from lambdas, objects that own graphs, captures, runners and reports, and exceptions.
 *
 *     bg::graph graph;
 *     bg::check(graph.capture(stream, [&](cudaStream_t s) {
 *         bg::op(s, "scale", {bg::in(x), bg::out(y)}, [=](cudaStream_t t) { return launch_scale(y.data, x.data, t); });
 *         bg::eager(s, "sample", {bg::in(y), bg::out(token)}, [=](cudaStream_t t) { ... may wait and decide ... });
 *     }));
 *     bg::check(graph.replay(stream));
 *
 * Functions return a bg_status, as in C, and bg::check() makes an exception of an error. The C functions take what
 * get() returns, and out() where they make an object.
 * Exceptions: one that leaves a body or a forward function is caught there. It becomes the status of that call, and of
 * the capture or replay that the call is in: that of a bg::error, BG_ERROR_OUT_OF_MEMORY for std::bad_alloc, else
 * BG_ERROR_OP. bg_last_error() has its what(), with the op call, file and line. The streams stay usable. None may leave
 * the program's other functions that the library calls, such as config.veto and options.barrier. A destructor of a
 * closure that throws ends the process, as elsewhere in C++.
 * Closures: a body runs again in every replay. Let it hold values, [=], or pointers to what lives as long as the
 * graph. The graph waits for its work on the device before it destroys them. Outside a capture, in forward_run and with
 * BG_DEBUG=forward a closure lives during the call only: work that the body leaves queued, such as a host node, must
 * not read what is in it. A capture by reference, [&], of a local variable dangles once its function has returned;
 * BG_CHECK=graph and bg_check report that ("dangling").
 * Threads: as for the functions of C.
 * Languages: C++17 and later, with exceptions; g++, clang++, nvcc. */
#ifndef BREAKGRAPH_BREAKGRAPH_HPP
#define BREAKGRAPH_BREAKGRAPH_HPP

#include <breakgraph/breakgraph.h>

#include <cstring>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bg
{

/* ---- errors --------------------------------------------------------------------------------------------------- */

/* A failed status that was passed to check(), with the sentence of bg_last_error(). */
class error : public std::runtime_error
{
  public:
    error(bg_status status, const std::string &sentence) : std::runtime_error(sentence), status_(status)
    {
    }
    bg_status status() const noexcept
    {
        return status_;
    }

  private:
    bg_status status_;
};

/* Throws an error unless status is BG_OK. Use it on what a function has just returned in this thread. */
inline void check(bg_status status)
{
    if (status == BG_OK)
        return;
    throw error(status, *bg_last_error() != '\0' ? bg_last_error() : bg_status_text(status));
}

namespace detail
{

/* Returns the status for the exception that is being handled. what: the function that threw it, for the message. */
inline bg_status status_of_exception(const char *what) noexcept
{
    static const char advice[] = "catch the exception there to go on";
    try {
        throw;
    } catch (const error &e) {
        if (e.status() == BG_OK) /* no throw is a success */
            return bg_report_failure(BG_ERROR_OP, what, e.what(), advice);
        /* Usually check() threw it for the library's last failure; bg_last_error() then has the sentence. */
        return std::strcmp(e.what(), bg_last_error()) == 0 ? e.status()
                                                           : bg_report_failure(e.status(), what, e.what(), advice);
    } catch (const std::bad_alloc &e) {
        return bg_report_failure(BG_ERROR_OUT_OF_MEMORY, what, e.what(), advice);
    } catch (const std::exception &e) {
        return bg_report_failure(BG_ERROR_OP, what, e.what(), advice);
    } catch (...) {
        return bg_report_failure(BG_ERROR_OP, what, "it threw an object that is not a std::exception", advice);
    }
}

inline bg_status status_of_cuda(const char *what, cudaError_t result)
{
    if (result == cudaSuccess)
        return BG_OK;
    return bg_report_failure(BG_ERROR_CUDA, what, cudaGetErrorName(result), cudaGetErrorString(result));
}

template <class Function>
bool is_null(const Function &function) noexcept
{
    if constexpr (std::is_pointer_v<Function>)
        return function == nullptr;
    else
        return (void)function, false;
}

/* Calls function(arguments...), which returns nothing, a bg_status or a cudaError_t. */
template <class Function, class... Arguments>
bg_status call(const char *what, Function &function, Arguments &&...arguments) noexcept
{
    using result = std::invoke_result_t<Function &, Arguments...>;
    static_assert(std::is_void_v<result> || std::is_same_v<result, bg_status> || std::is_same_v<result, cudaError_t>,
                  "the function must return nothing, a bg_status or a cudaError_t");
    if (is_null(function))
        return bg_report_failure(BG_ERROR_INVALID_ARGUMENT, what, "the function is NULL", "pass one to call");
    try {
        if constexpr (std::is_void_v<result>) {
            function(std::forward<Arguments>(arguments)...);
            return BG_OK;
        } else if constexpr (std::is_same_v<result, cudaError_t>) {
            return status_of_cuda(what, function(std::forward<Arguments>(arguments)...));
        } else {
            return function(std::forward<Arguments>(arguments)...);
        }
    } catch (...) {
        return status_of_exception(what);
    }
}

/* What the library calls for a closure of type Closure, which may be const. A graph keeps a kept_type. */
template <class Closure>
struct closure {
    using kept_type = std::remove_const_t<Closure>;
    static constexpr bool takes_tensors = std::is_invocable_v<Closure &, bg_tensor *, cudaStream_t>;
    static_assert(takes_tensors || std::is_invocable_v<Closure &, cudaStream_t>,
                  "the body must take a cudaStream_t, or a bg_tensor * and a cudaStream_t");

    static bg_status run(void *user, bg_tensor *tensors, cudaStream_t stream)
    {
        Closure &body = *static_cast<Closure *>(user);
        if constexpr (takes_tensors)
            return call("the body", body, tensors, stream);
        else
            return (void)tensors, call("the body", body, stream);
    }

    /* moves: the closure is not used afterwards, so it may be moved. */
    template <bool moves>
    static bg_status keep(void *user, void **kept)
    {
        Closure &body = *static_cast<Closure *>(user);
        try {
            if constexpr (moves)
                *kept = new kept_type(std::move(body));
            else
                *kept = new kept_type(body);
            return BG_OK;
        } catch (...) {
            return status_of_exception("the copy of the closure");
        }
    }

    static void destroy(void *kept) noexcept
    {
        delete static_cast<kept_type *>(kept);
    }
};

/* An object on the heap that a graph or a runner destroys. */
template <class Object>
void destroy_object(void *object) noexcept
{
    delete static_cast<Object *>(object);
}

template <class Object, class Argument>
bg_status make_object(std::unique_ptr<Object> &object, Argument &&argument) noexcept
{
    try {
        object = std::make_unique<Object>(std::forward<Argument>(argument));
        return BG_OK;
    } catch (...) {
        return status_of_exception("the copy of the forward function");
    }
}

template <class Forward>
bg_status run_forward(void *user, cudaStream_t stream)
{
    return call("the forward function", *static_cast<Forward *>(user), stream);
}

template <class Forward>
bg_status run_runner_forward(void *user, const bg_forward_context *context, cudaStream_t stream)
{
    return call("the forward function", *static_cast<Forward *>(user), *context, stream);
}

} /* namespace detail */

/* ---- ops ------------------------------------------------------------------------------------------------------ */

/* A tensor that a body reads, writes, or both. The tools compare operands, and a capture keeps their outputs. A tensor
 * alone means inout(tensor). */
class operand
{
  public:
    operand(const bg_tensor &tensor) : operand(BG_ROLE_INOUT, tensor, nullptr)
    {
    }
    operand(bg_role role, const bg_tensor &tensor, bg_tensor *to) : is{role, tensor}, result(to)
    {
    }
    bg_operand is;
    bg_tensor *result; /* gets the memory of an output; nullptr: nothing does */
};

inline operand in(const bg_tensor &tensor)
{
    return operand(BG_ROLE_IN, tensor, nullptr);
}

inline operand inout(const bg_tensor &tensor)
{
    return operand(BG_ROLE_INOUT, tensor, nullptr);
}

/* An output without memory (data nullptr) gets a bridge buffer, of the shape that tensor has. tensor then points to it,
 * as after bg_op_call. The body takes the tensors of the call, (bg_tensor *tensors, cudaStream_t stream), since its
 * closure is made before. */
inline operand out(bg_tensor &tensor)
{
    return operand(BG_ROLE_OUT, tensor, &tensor);
}

/* A tensor that is const stays as it is: where it has no memory, the body alone gets the bridge buffer, in its
 * tensors, and no later op can read it. Pass one that is not const to pass the buffer on. */
inline operand out(const bg_tensor &tensor)
{
    return operand(BG_ROLE_OUT, tensor, nullptr);
}

namespace detail
{

/* Calls region with these operands, and copies its outputs back to the caller's tensors. */
inline bg_status call_region(bg_region &region, cudaStream_t stream, const operand *operands, std::size_t count,
                             const bg_site &site) noexcept
{
    bg_operand own[BG_OPERANDS_MAX];
    bg_status status;

    region.operand_count = count > BG_OPERANDS_MAX ? BG_OPERANDS_MAX + 1 : static_cast<int>(count);
    region.operands = own;
    for (std::size_t i = 0; i < count && i < BG_OPERANDS_MAX; i++)
        own[i] = operands[i].is;
    status = bg_region_call(&region, stream, &site);
    for (std::size_t i = 0; i < count && i < BG_OPERANDS_MAX; i++)
        if (operands[i].result != nullptr)
            *operands[i].result = own[i].tensor;
    return status;
}

template <class Body>
bg_status call_closure(cudaStream_t stream, const char *name, bool eager, const operand *operands, std::size_t count,
                       Body &&body, const bg_site &site)
{
    using type = std::remove_reference_t<Body>;
    constexpr bool moves = !std::is_lvalue_reference_v<Body> && !std::is_const_v<type>;
    if constexpr (std::is_function_v<type>) {
        return call_closure(stream, name, eager, operands, count, &body, site);
    } else {
        using calls = closure<type>;
        static_assert(std::is_constructible_v<typename calls::kept_type, std::conditional_t<moves, type &&, type &>>,
                      "the closure cannot be copied: pass it with std::move");
        bg_region region = BG_REGION_INIT;
        region.name = name;
        region.eager = eager;
        region.body = is_null(body) ? nullptr : calls::run;
        region.user = const_cast<void *>(static_cast<const void *>(std::addressof(body)));
        region.user_bytes = sizeof body;
        region.keep = calls::template keep<moves>;
        region.destroy = calls::destroy;
        return call_region(region, stream, operands, count, site);
    }
}

} /* namespace detail */

/* Calls body as an eager op of that name: in a capture it is a break, and body runs between two segments, in every
 * replay; elsewhere it is called at once.
 *     bg::eager(stream, "sample", {bg::in(logits), bg::out(token)}, [=](cudaStream_t s) { ... });
 * body takes the stream, or the tensors of the operands and the stream: (bg_tensor *tensors, cudaStream_t stream). It
 * returns nothing, a bg_status or a cudaError_t, and may throw. In a capture body is copied, or moved where it is an
 * rvalue, into the graph, which destroys it when it is destroyed itself; every replay calls this one object.
 * Names, and errors: as for bg_region_call. */
template <class Body>
bg_status eager(cudaStream_t stream, const char *name, std::initializer_list<operand> operands, Body &&body,
                const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    return detail::call_closure(stream, name, true, operands.begin(), operands.size(), std::forward<Body>(body),
                                bg_site{file, line});
}

template <class Body>
bg_status eager(cudaStream_t stream, const char *name, const std::vector<operand> &operands, Body &&body,
                const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    return detail::call_closure(stream, name, true, operands.data(), operands.size(), std::forward<Body>(body),
                                bg_site{file, line});
}

/* Calls body as an op that is captured, as a BG_OP is: body runs once at capture, and its work is in the graph. With
 * BG_DEBUG=ops, or a pattern of BG_EAGER_OPS that matches, it is an eager op. All else is as for eager(); the graph
 * also keeps this closure, since a node may hold the address of what is in it. */
template <class Body>
bg_status op(cudaStream_t stream, const char *name, std::initializer_list<operand> operands, Body &&body,
             const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    return detail::call_closure(stream, name, false, operands.begin(), operands.size(), std::forward<Body>(body),
                                bg_site{file, line});
}

template <class Body>
bg_status op(cudaStream_t stream, const char *name, const std::vector<operand> &operands, Body &&body,
             const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    return detail::call_closure(stream, name, false, operands.data(), operands.size(), std::forward<Body>(body),
                                bg_site{file, line});
}

/* ---- objects -------------------------------------------------------------------------------------------------- */

/* Owns an object of the C API, or none. It can be moved, and not copied. */
template <class Object, void (*destroy)(Object *)>
class handle
{
  public:
    handle() noexcept = default;
    explicit handle(Object *object) noexcept : object_(object)
    {
    }
    handle(handle &&other) noexcept : object_(other.release())
    {
    }
    handle &operator=(handle &&other) noexcept
    {
        if (this != &other)
            reset(other.release());
        return *this;
    }
    ~handle()
    {
        reset();
    }

    /* The object; nullptr: none. */
    Object *get() const noexcept
    {
        return object_;
    }
    explicit operator bool() const noexcept
    {
        return object_ != nullptr;
    }
    /* Gives the object up; the caller destroys it. */
    Object *release() noexcept
    {
        return std::exchange(object_, nullptr);
    }
    /* Destroys the object, and takes the other one. */
    void reset(Object *object = nullptr) noexcept
    {
        destroy(std::exchange(object_, object));
    }
    /* For a function of C that makes an object: bg_check(graph.get(), BG_CHECK_ALL, report.out()). */
    Object **out() noexcept
    {
        reset();
        return &object_;
    }

  private:
    Object *object_ = nullptr;
};

/* Findings: the functions of breakgraph/report.h. */
class report : public handle<bg_report, bg_report_destroy>
{
  public:
    using handle::handle;

    int count() const noexcept
    {
        return bg_report_count(get());
    }
    /* The index-th finding, which is valid as long as the report. Throws an error if there is none. */
    bg_finding operator[](int index) const
    {
        bg_finding finding = BG_FINDING_INIT;
        check(bg_report_get(get(), index, &finding));
        return finding;
    }
    bg_status write(bg_format format, const char *path) const noexcept
    {
        return bg_report_write(get(), format, path);
    }
};

/* A captured pass: the functions of breakgraph/capture.h. */
class graph : public handle<bg_graph, bg_graph_destroy>
{
  public:
    using handle::handle;

    /* Captures forward(stream), as bg_capture_forward does, in place of the graph that was here. forward returns
     * nothing, a bg_status or a cudaError_t, and may throw. The old graph is destroyed before the capture begins, so
     * that its memory is free; after an error there is none. forward is copied, or moved where it is an rvalue, into
     * the graph, since the debug mode forward and BG_SHADOW run it again in replays: what it refers to must then still
     * live. */
    template <class Forward>
    bg_status capture(cudaStream_t stream, Forward &&forward, const bg_capture_options *options = nullptr)
    {
        using kept_type = std::decay_t<Forward>;
        std::unique_ptr<kept_type> kept;
        graph made; /* forward may use this object */
        bg_status status = detail::make_object(kept, std::forward<Forward>(forward));

        reset();
        if (status == BG_OK)
            status = bg_capture_forward(made.out(), detail::run_forward<kept_type>, kept.get(), stream, options);
        if (status == BG_OK)
            status = bg_graph_own(made.get(), kept.get(), detail::destroy_object<kept_type>);
        if (status == BG_OK)
            (void)kept.release();
        else
            made.reset();
        reset(made.release());
        return status;
    }
    /* Wraps a CUDA graph of the program's, as bg_graph_wrap does, in place of the graph that was here. */
    bg_status wrap(cudaGraph_t source, cudaGraphExec_t exec = nullptr, const char *name = nullptr) noexcept
    {
        return bg_graph_wrap(out(), source, exec, name);
    }
    bg_status replay(cudaStream_t stream) noexcept
    {
        return bg_replay(get(), stream);
    }
    /* bg_check; its findings take the place of those in the report. */
    bg_status check(unsigned what, report &findings) noexcept
    {
        return bg_check(get(), what, findings.out());
    }
    bg_status info(bg_graph_info &figures) const noexcept
    {
        return bg_graph_get_info(get(), &figures);
    }
};

/* A capture between begin and end, of the thread that began it. One that has not ended is aborted, also where an
 * exception leaves the scope. */
class capture : public handle<bg_capture, bg_capture_abort>
{
  public:
    using handle::handle;

    bg_status begin(cudaStream_t stream, const bg_capture_options *options = nullptr) noexcept
    {
        return bg_capture_begin(out(), stream, options);
    }
    /* Ends the capture, and puts the graph in place of the one that is in result. */
    bg_status end(graph &result) noexcept
    {
        bg_graph *ended = nullptr; /* the old graph's closures may not destroy what they hold inside a capture */
        bg_status status = bg_capture_end(release(), &ended);
        result.reset(ended);
        return status;
    }
};

/* A runner: the functions of breakgraph/runner.h. */
class runner : public handle<bg_runner, bg_runner_destroy>
{
  public:
    using handle::handle;

    /* Creates a runner of forward(context, stream), as bg_runner_create does, in place of the runner that was here.
     * forward takes a const bg_forward_context & and the stream; it returns nothing, a bg_status or a cudaError_t, and
     * may throw. It is copied, or moved where it is an rvalue, and lives as long as the runner. */
    template <class Forward>
    bg_status create(const bg_runner_config &config, cudaStream_t stream, Forward &&forward)
    {
        using kept_type = std::decay_t<Forward>;
        std::unique_ptr<kept_type> kept;
        bg_status status = detail::make_object(kept, std::forward<Forward>(forward));

        reset();
        if (status == BG_OK)
            status = bg_runner_create(out(), &config, detail::run_runner_forward<kept_type>, kept.get(), stream);
        if (status == BG_OK)
            status = bg_runner_own(get(), kept.get(), detail::destroy_object<kept_type>);
        if (status == BG_OK)
            (void)kept.release();
        else
            reset();
        return status;
    }
    bg_status capture() noexcept
    {
        return bg_runner_capture(get());
    }
    bg_status inputs_read(cudaEvent_t event) noexcept
    {
        return bg_runner_inputs_read(get(), event);
    }
    bg_status idle(int64_t budget_us) noexcept
    {
        return bg_runner_idle(get(), budget_us);
    }
    bg_status run(const bg_batch &batch, const bg_tensor *inputs = nullptr, bg_tensor *outputs = nullptr,
                  void *context_user = nullptr) noexcept
    {
        return bg_runner_run(get(), &batch, inputs, outputs, context_user);
    }
};

/* Runs forward(stream) eagerly, as bg_forward_run does. forward may throw. */
template <class Forward>
bg_status forward_run(cudaStream_t stream, Forward &&forward, const bg_capture_options *options = nullptr)
{
    using type = std::remove_reference_t<Forward>;
    if constexpr (std::is_function_v<type>) {
        return forward_run(stream, &forward, options);
    } else {
        void *user = const_cast<void *>(static_cast<const void *>(std::addressof(forward)));
        return bg_forward_run(detail::run_forward<type>, user, stream, options);
    }
}

} /* namespace bg */

#endif
