/* Conformance: launches of shapes and kernels that there are not, eager and captured. */
#include "cases.h"
#include "conformance_kernels.h"

#include <stdint.h>

static cudaError_t launch(struct scene *s, const void *function, dim3 grid, dim3 block, size_t bytes,
                          cudaStream_t stream)
{
    int value = 1;
    void *arguments[] = {&s->x, &value};
    return cudaLaunchKernel(function, grid, block, arguments, bytes, stream);
}

/* A launch of the kernel with a grid, a block or dynamic shared memory of its own, on a. */
#define ASK_GRID(x, y, z)                                                                                              \
    ASK_AS("kernel<<<dim3(" #x ", " #y ", " #z "), 1, 0, a>>>(x)",                                                     \
           launch(s, ck_add_function(), (dim3){x, y, z}, (dim3){1, 1, 1}, 0, s->a))
#define ASK_BLOCK(x, y, z)                                                                                             \
    ASK_AS("kernel<<<1, dim3(" #x ", " #y ", " #z "), 0, a>>>(x)",                                                     \
           launch(s, ck_add_function(), (dim3){1, 1, 1}, (dim3){x, y, z}, 0, s->a))
#define ASK_BYTES(bytes)                                                                                               \
    ASK_AS("kernel<<<1, 1, " #bytes ", a>>>(x)",                                                                       \
           launch(s, ck_add_function(), (dim3){1, 1, 1}, (dim3){1, 1, 1}, bytes, s->a))

/* ---- eager ------------------------------------------------------------------------------------------------------- */

CASE(grid_of_nothing, {
    ASK_GRID(0, 1, 1);
    ASK_GRID(1, 0, 1);
    ASK_GRID(1, 1, 0);
    ASK_GRID(0, 0, 0);
    ASK(cudaPeekAtLastError());
    ASK(cudaStreamQuery(s->a));
    VALUE("x", case_read_x(s));
});

CASE(grid_too_large, {
    ASK_GRID(0x80000000, 1, 1);
    ASK_GRID(1, 65536, 1);
    ASK_GRID(1, 1, 65536);
    ASK_GRID(0xffffffff, 0xffffffff, 0xffffffff);
    VALUE("x", case_read_x(s));
});

CASE(grid_largest, {
    ASK_GRID(1, 65535, 1);
    ASK_GRID(1, 1, 65535);
    ASK(cudaStreamSynchronize(s->a));
});

CASE(block_of_nothing, {
    ASK_BLOCK(0, 1, 1);
    ASK_BLOCK(1, 0, 1);
    ASK_BLOCK(1, 1, 0);
    ASK(cudaPeekAtLastError());
    VALUE("x", case_read_x(s));
});

CASE(block_too_large, {
    ASK_BLOCK(1025, 1, 1);
    ASK_BLOCK(1, 1025, 1);
    ASK_BLOCK(1, 1, 65);
    ASK_BLOCK(32, 33, 1);
    ASK_BLOCK(0xffffffff, 0xffffffff, 1);
    VALUE("x", case_read_x(s));
});

CASE(block_largest, {
    ASK_BLOCK(1024, 1, 1);
    ASK_BLOCK(1, 1024, 1);
    ASK_BLOCK(4, 4, 64);
    ASK(cudaStreamSynchronize(s->a));
});

CASE(shared_not_allowed, {
    ASK_BYTES(49152);
    ASK_BYTES(49153);
    ASK_BYTES(65536);
    ASK_BYTES(1 << 20);
    ASK_BYTES((size_t)1 << 40);
    ASK(cudaPeekAtLastError());
    VALUE("x", case_read_x(s));
});

CASE(several_mistakes, {
    ASK_AS("kernel<<<0, 1025, 0, a>>>(x)", launch(s, ck_add_function(), (dim3){0, 1, 1}, (dim3){1025, 1, 1}, 0, s->a));
    ASK_AS("kernel<<<0, 1, 49153, a>>>(x)",
           launch(s, ck_add_function(), (dim3){0, 1, 1}, (dim3){1, 1, 1}, 49153, s->a));
    ASK_AS("kernel<<<1, 1025, 49153, a>>>(x)",
           launch(s, ck_add_function(), (dim3){1, 1, 1}, (dim3){1025, 1, 1}, 49153, s->a));
    ASK_AS("NULL<<<0, 1, 0, a>>>(x)", launch(s, NULL, (dim3){0, 1, 1}, (dim3){1, 1, 1}, 0, s->a));
});

CASE(no_kernel_eager, {
    ASK(cudaLaunchKernel(NULL, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, s->a));
    ASK(cudaStreamQuery(s->a));
});

CASE(grid_of_nothing_in_driver, {
    cudaFunction_t function = NULL;
    int value = 1;
    void *arguments[] = {&s->x, &value};
    STEP(cudaGetFuncBySymbol(&function, ck_add_function()));
    ASK_CU(cuLaunchKernel, 4000, function, 0, 1, 1, 1, 1, 1, 0, s->a, arguments, NULL);
    ASK_CU(cuLaunchKernel, 4000, function, 1, 1, 1, 0, 1, 1, 0, s->a, arguments, NULL);
    ASK_CU(cuLaunchKernel, 4000, function, 1, 1, 1, 1025, 1, 1, 0, s->a, arguments, NULL);
    ASK_CU(cuLaunchKernel, 4000, function, 1, 1, 1, 1, 1, 65, 0, s->a, arguments, NULL);
    ASK_CU(cuLaunchKernel, 4000, function, 1, 65536, 1, 1, 1, 1, 0, s->a, arguments, NULL);
    ASK_CU(cuLaunchKernel, 4000, function, 1, 1, 1, 1, 1, 1, 49153, s->a, arguments, NULL);
    ASK_CU(cuLaunchKernel, 4000, NULL, 1, 1, 1, 1, 1, 1, 0, s->a, arguments, NULL);
    ASK(cudaPeekAtLastError());
    VALUE("x", case_read_x(s));
});

CASE(arguments_twice_in_driver, {
    cudaFunction_t function = NULL;
    int value = 1;
    void *arguments[] = {&s->x, &value};
    char buffer[16] = {0};
    size_t size = sizeof buffer;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    STEP(cudaGetFuncBySymbol(&function, ck_add_function()));
    ASK_CU(cuLaunchKernel, 4000, function, 1, 1, 1, 1, 1, 1, 0, s->a, arguments, extra);
    VALUE("x", case_read_x(s));
});

/* ---- captured ---------------------------------------------------------------------------------------------------- */

CASE(grid_of_nothing_captured, {
    BEGIN(s->a, ThreadLocal);
    ASK_GRID(0, 1, 1);
    STATUS(s->a);
    ASK_LAUNCH(s->a);
    END(s->a);
});

CASE(grid_too_large_captured, {
    BEGIN(s->a, ThreadLocal);
    ASK_GRID(1, 65536, 1);
    STATUS(s->a);
    END(s->a);
});

CASE(block_of_nothing_captured, {
    BEGIN(s->a, ThreadLocal);
    ASK_BLOCK(0, 1, 1);
    STATUS(s->a);
    END(s->a);
});

CASE(block_too_large_captured, {
    BEGIN(s->a, ThreadLocal);
    ASK_BLOCK(1025, 1, 1);
    STATUS(s->a);
    END(s->a);
});

CASE(block_too_deep_captured, {
    BEGIN(s->a, ThreadLocal);
    ASK_BLOCK(1, 1, 65);
    STATUS(s->a);
    END(s->a);
});

CASE(shared_not_allowed_captured, {
    BEGIN(s->a, ThreadLocal);
    ASK_BYTES(49153);
    STATUS(s->a);
    END(s->a);
});

CASE(no_kernel_captured, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaLaunchKernel(NULL, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, s->a));
    STATUS(s->a);
    END(s->a);
});

/* ---- with attributes --------------------------------------------------------------------------------------------- */

static cudaError_t launch_with(struct scene *s, const cudaLaunchAttribute *attributes, unsigned count, unsigned blocks)
{
    int value = 1;
    void *arguments[] = {&s->x, &value};
    cudaLaunchConfig_t config = {0};
    config.gridDim = (dim3){blocks, 1, 1};
    config.blockDim = (dim3){1, 1, 1};
    config.stream = s->a;
    config.attrs = (cudaLaunchAttribute *)(void *)(uintptr_t)attributes;
    config.numAttrs = count;
    return cudaLaunchKernelExC(&config, ck_add_function(), arguments);
}
#define ASK_ATTRIBUTE(shown, ...)                                                                                      \
    ASK_AS("cudaLaunchKernelExC({1, 1, 0, a, {" shown "}}, kernel, {x})",                                              \
           launch_with(s, &(cudaLaunchAttribute){__VA_ARGS__}, 1, 1))

CASE(attributes_missing, {
    ASK_AS("cudaLaunchKernelExC({1, 1, 0, a, NULL, 0 attributes}, kernel, {x})", launch_with(s, NULL, 0, 1));
    VALUE("x", case_read_x(s));
});

CASE(attributes_null, {
    ASK_AS("cudaLaunchKernelExC({1, 1, 0, a, NULL, 1 attribute}, kernel, {x})", launch_with(s, NULL, 1, 1));
    VALUE("x", case_read_x(s));
});

CASE(attributes_unknown, {
    ASK_ATTRIBUTE("id 99", .id = (cudaLaunchAttributeID)99);
    ASK_ATTRIBUTE("id -1", .id = (cudaLaunchAttributeID)(-1));
    VALUE("x", case_read_x(s));
});

CASE(attributes_harmless, {
    ASK_ATTRIBUTE("ProgrammaticStreamSerialization 1", .id = cudaLaunchAttributeProgrammaticStreamSerialization,
                  .val.programmaticStreamSerializationAllowed = 1);
    ASK_ATTRIBUTE("Ignore", .id = cudaLaunchAttributeIgnore);
    ASK_ATTRIBUTE("Priority 0", .id = cudaLaunchAttributePriority);
    ASK_ATTRIBUTE("Cooperative 0", .id = cudaLaunchAttributeCooperative, .val.cooperative = 0);
    ASK_ATTRIBUTE("Cooperative 1", .id = cudaLaunchAttributeCooperative, .val.cooperative = 1);
    VALUE("x", case_read_x(s));
});

CASE(attributes_of_streams, {
    ASK_ATTRIBUTE("SynchronizationPolicy auto", .id = cudaLaunchAttributeSynchronizationPolicy,
                  .val.syncPolicy = cudaSyncPolicyAuto);
    VALUE("x", case_read_x(s));
});

CASE(attributes_of_clusters, {
    ASK_ATTRIBUTE("ClusterDimension 1, 1, 1", .id = cudaLaunchAttributeClusterDimension, .val.clusterDim.x = 1,
                  .val.clusterDim.y = 1, .val.clusterDim.z = 1);
    ASK_ATTRIBUTE("ClusterDimension 0, 1, 1", .id = cudaLaunchAttributeClusterDimension, .val.clusterDim.x = 0,
                  .val.clusterDim.y = 1, .val.clusterDim.z = 1);
    ASK_ATTRIBUTE("ClusterDimension 2, 1, 1", .id = cudaLaunchAttributeClusterDimension, .val.clusterDim.x = 2,
                  .val.clusterDim.y = 1, .val.clusterDim.z = 1);
    VALUE("x", case_read_x(s));
});

CASE(attributes_of_cooperation, {
    const cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeCooperative, .val.cooperative = 1};
    ASK_AS("cudaLaunchKernelExC({1 << 20, 1, 0, a, {Cooperative 1}}, kernel, {x})",
           launch_with(s, &attribute, 1, 1 << 20));
    BEGIN(s->a, ThreadLocal);
    ASK_AS("cudaLaunchKernelExC({1 << 20, 1, 0, a, {Cooperative 1}}, kernel, {x})",
           launch_with(s, &attribute, 1, 1 << 20));
    STATUS(s->a);
    END(s->a);
    VALUE("x", case_read_x(s));
});

CASE(attributes_unknown_captured, {
    BEGIN(s->a, ThreadLocal);
    ASK_ATTRIBUTE("id 99", .id = (cudaLaunchAttributeID)99);
    STATUS(s->a);
    END(s->a);
});

static const struct case_rule eager_rules[] = {
    {&grid_of_nothing, "A grid without blocks is refused."},
    {&grid_too_large, "So is one with too many."},
    {&grid_largest, "The largest in y and z are allowed."},
    {&block_of_nothing, "A block without threads is refused."},
    {&block_too_large, "So is one with too many, in all or in one direction."},
    {&block_largest, "The largest are allowed."},
    {&shared_not_allowed, "A kernel has up to 48 KiB of dynamic shared memory, unless it was allowed more. The number "
                          "counts by its lower 32 bits."},
    {&several_mistakes, "Which of two mistakes is told."},
    {&no_kernel_eager, "NULL is no kernel."},
    {&grid_of_nothing_in_driver, "The driver answers in its own codes, and leaves the runtime's last error alone."},
    {&arguments_twice_in_driver, "Arguments come in one of two ways, not in both."},
};

const struct case_topic topic_launch =
    CASE_TOPIC("Launches", "Launches that CUDA refuses. The stream is not harmed by them.", eager_rules);

static const struct case_rule captured_rules[] = {
    {&grid_of_nothing_captured, "A grid without blocks, captured."},
    {&grid_too_large_captured, "A grid with too many."},
    {&block_of_nothing_captured, "A block without threads."},
    {&block_too_large_captured, "A block with too many."},
    {&block_too_deep_captured, "A block with too many in one direction."},
    {&shared_not_allowed_captured, "More shared memory than the kernel may have."},
    {&no_kernel_captured, "No kernel."},
};

const struct case_topic topic_launch_captured =
    CASE_TOPIC("Launches in a capture", "The same launches while the stream captures.", captured_rules);

static const struct case_rule attribute_rules[] = {
    {&attributes_missing, "A launch without attributes needs no array of them."},
    {&attributes_null, "A launch with attributes does."},
    {&attributes_unknown, "Attributes that do not exist."},
    {&attributes_harmless, "Attributes that a launch of one block can have."},
    {&attributes_of_streams, "An attribute of streams is none of launches."},
    {&attributes_of_clusters, "Clusters have blocks, and divide the grid."},
    {&attributes_of_cooperation,
     "A cooperative launch must fit on the device as a whole; one that does not spoils a capture."},
    {&attributes_unknown_captured, "An attribute that does not exist leaves a capture as it was."},
};

const struct case_topic topic_launch_attribute =
    CASE_TOPIC("Attributes of launches", "What `cudaLaunchKernelExC` takes.", attribute_rules);
