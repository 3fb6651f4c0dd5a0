/* breakgraph in C++: a lambda is an eager op between graph segments, an exception in it fails its batch only, and a
 * runner has one graph for each batch size. */
#include <breakgraph/breakgraph.hpp>
#include <cstdio>

static void check_cuda(cudaError_t error)
{
    if (error != cudaSuccess)
        throw std::runtime_error(cudaGetErrorString(error));
}

/* y = 10 x, computed on the host. The graph keeps a copy of the closure, so the closure holds values. */
static bg_status scale(cudaStream_t stream, const bg_tensor &x, const bg_tensor &y, std::size_t rows)
{
    return bg::eager(stream, "scale", {bg::in(x), bg::out(y)}, [=](cudaStream_t s) {
        std::vector<float> host(rows);
        check_cuda(cudaMemcpyAsync(host.data(), x.data, rows * sizeof(float), cudaMemcpyDeviceToHost, s));
        check_cuda(cudaStreamSynchronize(s));
        for (float &value : host)
            value = value < 0 ? throw std::domain_error("a row is negative") : 10 * value;
        check_cuda(cudaMemcpyAsync(y.data, host.data(), rows * sizeof(float), cudaMemcpyHostToDevice, s));
        check_cuda(cudaStreamSynchronize(s));
    });
}

int main()
try {
    const cudaStream_t stream = cudaStreamPerThread; /* the legacy stream cannot be captured */
    const float batches[][3] = {{1, 2, 3}, {1, -2, 3}, {4, 5, 6}};
    const int64_t rows[] = {0};
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_tensor x, y;
    bg::runner runner;
    config.schedule = "2,4";
    bg::check(runner.create(config, stream, [&](const bg_forward_context &context, cudaStream_t s) {
        const auto count = static_cast<std::size_t>(context.padded_tokens);
        scale(s, x, y, count);                                                                      /* break */
        return cudaMemcpyAsync(x.data, y.data, count * sizeof(float), cudaMemcpyDeviceToDevice, s); /* captured */
    }));
    bg::check(bg_runner_add_input(runner.get(), "x", BG_F32, 1, rows, BG_PAD_ZERO, 0, &x));
    bg::check(bg_runner_add_output(runner.get(), "y", BG_F32, 1, rows, &y));
    bg::check(runner.capture());
    for (const auto &values : batches) {
        bg_batch batch = {};
        float result[3];
        batch.tokens = 3;
        check_cuda(cudaMemcpy(x.data, values, sizeof values, cudaMemcpyHostToDevice));
        if (runner.run(batch) == BG_OK) {
            check_cuda(cudaMemcpy(result, y.data, sizeof result, cudaMemcpyDeviceToHost));
            std::printf("%g %g %g\n", result[0], result[1], result[2]);
        } else {
            std::printf("%s\n", bg_last_error());
        }
    }
    return 0;
} catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
