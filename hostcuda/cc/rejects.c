#include "rejects.h"

#include <string.h>

#define TEXTURE "textures and surfaces are not supported by the host device; read the data through a pointer"
#define GROUP                                                                                                          \
    "cooperative groups beyond a block and its tiles are not supported by the host device: its blocks run one after "  \
    "the other; launch one kernel for each step"
#define WMMA                                                                                                           \
    "matrix fragments (nvcuda::wmma) are not supported by the host device; write the product as a loop, or call "      \
    "cuBLAS"
#define BARRIER "the barriers of __mbarrier_* are not supported by the host device; use __syncthreads"
#define PTX     "inline PTX is not supported by the host device; use CUDA's function for the instruction"

/* The rejected words, and where each is rejected: everywhere, in device code, before a (, or as a member of the
 * namespace cooperative_groups, which programs usually call cg. A word that ends with * matches all words with this
 * prefix. */
static const struct {
    const char *word;
    enum { EVERYWHERE, IN_DEVICE_CODE, AS_CALL, IN_GROUPS_NAMESPACE } where;
    const char *why;
} rejected[] = {
    {"__hostcuda_managed__", EVERYWHERE,
     "__managed__ variables are not supported by the host device; use a __device__ variable and cudaMemcpyToSymbol"},
    {"cudaTextureObject_t", EVERYWHERE, TEXTURE},
    {"cudaSurfaceObject_t", EVERYWHERE, TEXTURE},
    {"cudaCreateTextureObject", EVERYWHERE, TEXTURE},
    {"cudaCreateSurfaceObject", EVERYWHERE, TEXTURE},
    {"tex1D", IN_DEVICE_CODE, TEXTURE},
    {"tex1Dfetch", IN_DEVICE_CODE, TEXTURE},
    {"tex2D", IN_DEVICE_CODE, TEXTURE},
    {"tex2DLod", IN_DEVICE_CODE, TEXTURE},
    {"tex2DLayered", IN_DEVICE_CODE, TEXTURE},
    {"tex3D", IN_DEVICE_CODE, TEXTURE},
    {"texCubemap", IN_DEVICE_CODE, TEXTURE},
    {"surf1Dread", IN_DEVICE_CODE, TEXTURE},
    {"surf1Dwrite", IN_DEVICE_CODE, TEXTURE},
    {"surf2Dread", IN_DEVICE_CODE, TEXTURE},
    {"surf2Dwrite", IN_DEVICE_CODE, TEXTURE},
    {"surf3Dread", IN_DEVICE_CODE, TEXTURE},
    {"surf3Dwrite", IN_DEVICE_CODE, TEXTURE},
    {"asm", IN_DEVICE_CODE, PTX},
    {"__asm__", IN_DEVICE_CODE, PTX},
    {"__asm", IN_DEVICE_CODE, PTX},
    {"<<<", IN_DEVICE_CODE,
     "dynamic parallelism is not supported by the host device: a kernel cannot launch another kernel; launch that from host code"},
    {"nvcuda", EVERYWHERE, WMMA},
    {"__mbarrier_*", AS_CALL, BARRIER},
    {"multi_grid_group", IN_GROUPS_NAMESPACE, GROUP},
    {"cluster_group", IN_GROUPS_NAMESPACE, GROUP},
    {"this_multi_grid", IN_GROUPS_NAMESPACE, GROUP},
    {"this_cluster", IN_GROUPS_NAMESPACE, GROUP},
    {"cudaLaunchCooperativeKernel*", AS_CALL, GROUP},
};

static bool token_matches(const struct hcc_source *source, size_t i, const char *word)
{
    const struct hcc_token *token = &source->tokens[i];
    size_t length = strlen(word);
    if (word[length - 1] != '*')
        return hcc_token_is(source, i, word);
    return token->length + 1 >= length && memcmp(source->text + token->start, word, length - 1) == 0;
}

/* Whether token i begins a device lambda, [x] __device__ (int i) {...}: a capture list before __device__ or __host__
 * __device__. */
static bool is_device_lambda(const struct hcc_source *source, size_t i)
{
    bool device = hcc_token_is(source, i, "__hostcuda_device__") ||
                  (hcc_token_is(source, i, "__hostcuda_host__") && hcc_token_is(source, i + 1, "__hostcuda_device__"));
    if (!device || i < 3 || !hcc_token_is(source, i - 1, "]"))
        return false;
    size_t open = hcc_find_open(source, i - 1);
    return open + 2 < i && !hcc_token_is(source, open + 1, "[");
}

static bool applies_here(const struct hcc_source *source, const struct hcc_scopes *scopes, size_t i, int where)
{
    switch (where) {
    case IN_DEVICE_CODE: return hcc_innermost_scope(scopes)->device;
    case AS_CALL: return hcc_token_is(source, i + 1, "(");
    case IN_GROUPS_NAMESPACE:
        return i > 1 && hcc_token_is(source, i - 1, "::") &&
               (hcc_token_is(source, i - 2, "cooperative_groups") || hcc_token_is(source, i - 2, "cg"));
    default: return true;
    }
}

bool hcc_check_supported(const struct hcc_source *source, const struct hcc_scopes *scopes, size_t i)
{
    if (source->files[source->tokens[i].file].system)
        return true;
    if (is_device_lambda(source, i)) {
        hcc_report_error(
            source, i,
            "extended lambdas with captures are not supported by the host device; pass the captured values as "
            "arguments of the kernel, or write a struct with operator()");
        return false;
    }
    for (size_t r = 0; r < sizeof rejected / sizeof *rejected; r++) {
        bool here = applies_here(source, scopes, i, rejected[r].where);
        if (here && token_matches(source, i, rejected[r].word)) {
            hcc_report_error(source, i, "%s", rejected[r].why);
            return false;
        }
    }
    return true;
}
