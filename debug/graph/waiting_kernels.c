#include "waiting_kernels.h"

#include <cudaTypedefs.h>
#include <string.h>

/* ---- by name ---------------------------------------------------------------------------------------------------- */

#define SAME "the same kernel of the other ranks"
#define NCCL "NCCL's kernels of the other ranks"

/* Parts of kernel names; case does not matter. More specific parts come first. others NULL: the kernel waits for no
 * other kernel. */
static const struct {
    const char *part, *others;
} known[] = {
    {"ncclDevKernel", NCCL},
    {"ncclDevFunc", NCCL},
    {"ncclKernel", NCCL},
    {"ncclSymkDevKernel", NCCL},
    {"ncclSymDevKernel", NCCL},
    {"hostcuda_nccl", NCCL}, /* of the host device */
    {"nvshmem", "NVSHMEM's other processing elements"},
    {"cross_device_reduce", SAME}, /* vLLM, SGLang, AITER */
    {"allreduce_prototype", SAME}, /* quick reduce */
    {"oneShotAllReduce", SAME},    /* TensorRT-LLM, FlashInfer */
    {"twoShotAllReduce", SAME},
    {"allreduce_fusion_kernel", SAME},
    {"userbuffers_fp16_sum", SAME},
    {"one_shot_all_reduce", SAME}, /* PyTorch's symmetric memory */
    {"two_shot_all_reduce", SAME},
    {"multimem_all_reduce", SAME},
    {"multimem_all_gather", SAME},
    {"wait_signal_kernel", "a signal of another rank"},
    {"mscclpp", SAME},
    {"deep_ep::layout", NULL},
    {"deep_ep::", "DeepEP's kernels of the other ranks"},
};

const char *bg__kernel_waits_for_others(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof known / sizeof *known; i++)
        if (strcasestr(name, known[i].part) != NULL)
            return known[i].others;
    return NULL;
}

/* ---- grids ------------------------------------------------------------------------------------------------------ */

typedef CUresult (*blocks_function)(int *blocks, CUfunction function, int threads, size_t bytes);
typedef CUresult (*clusters_function)(int *clusters, CUfunction function, const CUlaunchConfig *config);
typedef CUresult (*kernel_function)(CUfunction *function, CUkernel kernel);

static unsigned cluster_blocks(const bg__node *node, CUlaunchAttribute *cluster)
{
    cudaLaunchAttributeValue value = {0};
    cudaError_t error = cudaGraphKernelNodeGetAttribute(node->handle, cudaLaunchAttributeClusterDimension, &value);

    bg__clear_cuda_error(error);
    if (error != cudaSuccess || value.clusterDim.x == 0)
        return 1;
    *cluster = (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    cluster->value.clusterDim.x = value.clusterDim.x;
    cluster->value.clusterDim.y = value.clusterDim.y;
    cluster->value.clusterDim.z = value.clusterDim.z;
    return value.clusterDim.x * value.clusterDim.y * value.clusterDim.z;
}

static unsigned long long count_by_clusters(const bg__node *node, CUfunction function, unsigned blocks,
                                            CUlaunchAttribute *cluster)
{
    const CUDA_KERNEL_NODE_PARAMS *launch = &node->of.launch;
    CUlaunchConfig config = {.gridDimX = launch->gridDimX,
                             .gridDimY = launch->gridDimY,
                             .gridDimZ = launch->gridDimZ,
                             .blockDimX = launch->blockDimX,
                             .blockDimY = launch->blockDimY,
                             .blockDimZ = launch->blockDimZ,
                             .sharedMemBytes = launch->sharedMemBytes,
                             .attrs = cluster,
                             .numAttrs = 1};
    clusters_function ask;
    int clusters = 0;

    if (bg__driver_get_entry_point("cuOccupancyMaxActiveClusters", 11080, &ask) != BG_OK ||
        ask(&clusters, function, &config) != CUDA_SUCCESS || clusters < 0)
        return 0;
    return (unsigned long long)clusters * blocks;
}

static unsigned long long count_by_blocks(const bg__node *node, CUfunction function)
{
    const CUDA_KERNEL_NODE_PARAMS *launch = &node->of.launch;
    const int threads = (int)(launch->blockDimX * launch->blockDimY * launch->blockDimZ);
    int blocks = 0, device, processors = 0;
    blocks_function ask;
    cudaError_t error = cudaGetDevice(&device);

    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    bg__clear_cuda_error(error);
    if (error != cudaSuccess ||
        bg__driver_get_entry_point("cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050, &ask) != BG_OK ||
        ask(&blocks, function, threads, launch->sharedMemBytes) != CUDA_SUCCESS || blocks < 0)
        return 0;
    return (unsigned long long)blocks * (unsigned)processors;
}

void bg__grid_measure(const bg__node *node, bg__grid *grid)
{
    CUfunction function;
    CUlaunchAttribute cluster;
    kernel_function of_kernel;
    unsigned blocks;

    *grid = (bg__grid){0, 0};
    if (node->type != cudaGraphNodeTypeKernel || !node->known)
        return;
    grid->blocks = (unsigned long long)node->of.launch.gridDimX * node->of.launch.gridDimY * node->of.launch.gridDimZ;
    function = node->of.launch.func;
    if (function == NULL && (node->of.launch.kern == NULL ||
                             bg__driver_get_entry_point("cuKernelGetFunction", 12000, &of_kernel) != BG_OK ||
                             of_kernel(&function, node->of.launch.kern) != CUDA_SUCCESS))
        return;
    blocks = cluster_blocks(node, &cluster);
    grid->fit = blocks > 1 ? count_by_clusters(node, function, blocks, &cluster) : count_by_blocks(node, function);
}
