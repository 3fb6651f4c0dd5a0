/* Conformance: what a program asks of its kernels, and sets for them. */
#include "cases.h"
#include "conformance_kernels.h"

static char no_kernel_here[4096];

/* ---- names, parameters, handles ---------------------------------------------------------------------------------- */

CASE(function_name, {
    const void *kernel = ck_untouched_function();
    const char *name = NULL;
    ASK(cudaFuncGetName(&name, kernel));
    case_note(s, "name", "%s", name ? name : "NULL");
    name = "unwritten";
    ASK(cudaFuncGetName(&name, NULL));
    ASK(cudaFuncGetName(&name, no_kernel_here));
    case_note(s, "name", "%s", name ? name : "NULL");
});

CASE(function_parameters, {
    const void *kernel = ck_untouched_function();
    size_t offset = 0;
    size_t size = 0;
    ASK(cudaFuncGetParamInfo(kernel, 0, &offset, &size));
    VALUE("offset", offset);
    VALUE("size", size);
    ASK(cudaFuncGetParamInfo(kernel, 1, &offset, &size));
    VALUE("offset", offset);
    VALUE("size", size);
    ASK(cudaFuncGetParamInfo(kernel, 2, &offset, &size));
    VALUE("offset", offset);
    VALUE("size", size);
});

CASE(function_parameters_past_the_end, {
    const void *kernel = ck_untouched_function();
    size_t offset = 77;
    size_t size = 77;
    ASK(cudaFuncGetParamInfo(kernel, 3, &offset, &size));
    ASK(cudaFuncGetParamInfo(kernel, (size_t)-1, &offset, &size));
    ASK(cudaFuncGetParamInfo(NULL, 0, &offset, &size));
    ASK(cudaFuncGetParamInfo(no_kernel_here, 0, &offset, &size));
    VALUE("offset", offset);
    VALUE("size", size);
});

CASE(function_parameters_without_place, {
    const void *kernel = ck_untouched_function();
    size_t offset = 77;
    size_t size = 77;
    ASK(cudaFuncGetParamInfo(kernel, 1, &offset, NULL));
    VALUE("offset", offset);
    ASK(cudaFuncGetParamInfo(kernel, 1, NULL, &size));
    VALUE("size", size);
});

CASE(function_name_without_place, {
    const void *kernel = ck_untouched_function();
    ASK(cudaFuncGetName(NULL, kernel));
});

CASE(function_parameters_in_driver, {
    const void *kernel = ck_untouched_function();
    cudaFunction_t function = NULL;
    size_t offset = 77;
    size_t size = 77;
    STEP(cudaGetFuncBySymbol(&function, kernel));
    ASK_CU(cuFuncGetParamInfo, 12040, function, 2, &offset, &size);
    VALUE("offset", offset);
    VALUE("size", size);
    ASK_CU(cuFuncGetParamInfo, 12040, function, 3, &offset, &size);
    ASK_CU(cuFuncGetParamInfo, 12040, function, 2, &offset, NULL);
    ASK_CU(cuFuncGetParamInfo, 12040, function, 2, NULL, &size);
    ASK_CU(cuFuncGetParamInfo, 12040, NULL, 0, &offset, &size);
});

CASE(function_handle, {
    const void *kernel = ck_untouched_function();
    const void *other_kernel = ck_add_function();
    cudaFunction_t function = NULL;
    cudaFunction_t again = NULL;
    cudaFunction_t other = NULL;
    ASK(cudaGetFuncBySymbol(&function, kernel));
    ASK(cudaGetFuncBySymbol(&again, kernel));
    ASK(cudaGetFuncBySymbol(&other, other_kernel));
    ANSWERED("the first two are equal", function == again);
    ANSWERED("the third is another", function != other);
    ASK(cudaGetFuncBySymbol(NULL, kernel));
    ASK(cudaGetFuncBySymbol(&function, NULL));
    ASK(cudaGetFuncBySymbol(&function, no_kernel_here));
});

CASE(kernel_handle, {
    const void *kernel = ck_untouched_function();
    cudaKernel_t handle = NULL;
    cudaFunction_t function = NULL;
    CUfunction of_kernel = NULL;
    const char *name = NULL;
    ASK(cudaGetKernel(&handle, kernel));
    STEP(cudaGetFuncBySymbol(&function, kernel));
    ASK_CU(cuKernelGetFunction, 12000, &of_kernel, handle);
    ANSWERED("the kernel's function is that of the symbol", of_kernel == function);
    ASK_CU(cuKernelGetName, 12030, &name, handle);
    case_note(s, "name", "%s", name ? name : "NULL");
    ASK_CU(cuFuncGetName, 12030, &name, function);
    case_note(s, "name", "%s", name ? name : "NULL");
    ASK(cudaGetKernel(NULL, kernel));
    ASK(cudaGetKernel(&handle, NULL));
    ASK(cudaGetKernel(&handle, no_kernel_here));
});

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static struct cudaFuncAttributes found;

CASE(attributes_untouched, {
    const void *kernel = ck_untouched_function();
    ASK(cudaFuncGetAttributes(&found, kernel));
    VALUE("sharedSizeBytes", found.sharedSizeBytes);
    VALUE("localSizeBytes", found.localSizeBytes);
    VALUE("maxThreadsPerBlock", found.maxThreadsPerBlock);
    VALUE("maxDynamicSharedSizeBytes", found.maxDynamicSharedSizeBytes);
    VALUE("preferredShmemCarveout", found.preferredShmemCarveout);
    VALUE("cacheModeCA", found.cacheModeCA);
    ANSWERED("numRegs is above 0", found.numRegs > 0);
    VALUE("clusterDimMustBeSet", found.clusterDimMustBeSet);
    VALUE("requiredClusterWidth", found.requiredClusterWidth);
    VALUE("requiredClusterHeight", found.requiredClusterHeight);
    VALUE("requiredClusterDepth", found.requiredClusterDepth);
    VALUE("clusterSchedulingPolicyPreference", found.clusterSchedulingPolicyPreference);
    VALUE("nonPortableClusterSizeAllowed", found.nonPortableClusterSizeAllowed);
});

CASE(attributes_untouched_in_driver, {
    const void *kernel = ck_untouched_function();
    cudaFunction_t function = NULL;
    int value = -1;
    STEP(cudaGetFuncBySymbol(&function, kernel));
    ASK_CU(cuFuncGetAttribute, 2020, &value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    VALUE("value", value);
    ASK_CU(cuFuncGetAttribute, 2020, &value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
    VALUE("value", value);
    ASK_CU(cuFuncGetAttribute, 2020, &value, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function);
    VALUE("value", value);
    ASK_CU(cuFuncGetAttribute, 2020, &value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function);
    VALUE("value", value);
    ASK_CU(cuFuncGetAttribute, 2020, &value, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, function);
    VALUE("value", value);
    ASK_CU(cuFuncGetAttribute, 2020, &value, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, function);
    VALUE("value", value);
    ASK_CU(cuFuncGetAttribute, 2020, &value, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, function);
    VALUE("value", value);
    ASK_CU(cuFuncGetAttribute, 2020, &value, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, function);
    VALUE("value", value);
    ASK_CU(cuFuncGetAttribute, 2020, &value, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, function);
    VALUE("value", value);
});

CASE(attributes_of_nothing, {
    const void *kernel = ck_untouched_function();
    ASK(cudaFuncGetAttributes(NULL, kernel));
    ASK(cudaFuncGetAttributes(&found, NULL));
    ASK(cudaFuncGetAttributes(&found, no_kernel_here));
    ASK(cudaFuncGetAttributes(NULL, NULL));
});

CASE(set_attribute_of_nothing, {
    ASK(cudaFuncSetAttribute(NULL, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    ASK(cudaFuncSetAttribute(no_kernel_here, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    ASK(cudaFuncSetAttribute(NULL, (enum cudaFuncAttribute)99, 50));
});

CASE(set_attribute_unknown, {
    const void *kernel = ck_use_shared_function();
    ASK(cudaFuncSetAttribute(kernel, (enum cudaFuncAttribute)(-1), 1));
    ASK(cudaFuncSetAttribute(kernel, (enum cudaFuncAttribute)0, 1));
    ASK(cudaFuncSetAttribute(kernel, (enum cudaFuncAttribute)7, 1));
    ASK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMax, 1));
    ASK(cudaFuncSetAttribute(kernel, (enum cudaFuncAttribute)99, 1));
});

static cudaError_t set_percent(int value)
{
    return cudaFuncSetAttribute(ck_use_shared_function(), cudaFuncAttributePreferredSharedMemoryCarveout, value);
}

/* What comes back after each set. */
#define ASK_CARVEOUT(value)                                                                                            \
    do {                                                                                                               \
        ASK_AS("cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, " #value ")",             \
               set_percent(value));                                                                                    \
        STEP_AS("cudaFuncGetAttributes(&found, kernel)", cudaFuncGetAttributes(&found, ck_use_shared_function()));     \
        VALUE("preferredShmemCarveout", found.preferredShmemCarveout);                                                 \
    } while (0)

CASE(set_carveout, {
    ASK_CARVEOUT(-1);
    ASK_CARVEOUT(0);
    ASK_CARVEOUT(1);
    ASK_CARVEOUT(50);
    ASK_CARVEOUT(100);
    ASK_CARVEOUT(101);
    ASK_CARVEOUT(-2);
    ASK_CARVEOUT(-1);
});

static cudaError_t set_shared(enum cudaFuncAttribute attribute, int value)
{
    return cudaFuncSetAttribute(ck_use_shared_function(), attribute, value);
}
/* Sets one of the attributes of clusters, and asks for it. */
#define ASK_CLUSTER(name, field, value)                                                                                \
    do {                                                                                                               \
        ASK_AS("cudaFuncSetAttribute(kernel, cudaFuncAttribute" #name ", " #value ")",                                 \
               set_shared(cudaFuncAttribute##name, value));                                                            \
        STEP_AS("cudaFuncGetAttributes(&found, kernel)", cudaFuncGetAttributes(&found, ck_use_shared_function()));     \
        VALUE(#field, found.field);                                                                                    \
    } while (0)

CASE(set_non_portable_clusters, {
    ASK_CLUSTER(NonPortableClusterSizeAllowed, nonPortableClusterSizeAllowed, 1);
    ASK_CLUSTER(NonPortableClusterSizeAllowed, nonPortableClusterSizeAllowed, 2);
    ASK_CLUSTER(NonPortableClusterSizeAllowed, nonPortableClusterSizeAllowed, -1);
    ASK_CLUSTER(NonPortableClusterSizeAllowed, nonPortableClusterSizeAllowed, 0);
});

CASE(set_cluster_policy, {
    ASK_CLUSTER(ClusterSchedulingPolicyPreference, clusterSchedulingPolicyPreference, 1);
    ASK_CLUSTER(ClusterSchedulingPolicyPreference, clusterSchedulingPolicyPreference, 2);
    ASK_CLUSTER(ClusterSchedulingPolicyPreference, clusterSchedulingPolicyPreference, 3);
    ASK_CLUSTER(ClusterSchedulingPolicyPreference, clusterSchedulingPolicyPreference, -1);
    ASK_CLUSTER(ClusterSchedulingPolicyPreference, clusterSchedulingPolicyPreference, 0);
});

CASE(set_read_only_attribute, {
    const void *kernel = ck_use_shared_function();
    cudaFunction_t function = NULL;
    int value = 7;
    STEP(cudaGetFuncBySymbol(&function, kernel));
    ASK_CU(cuFuncSetAttribute, 9000, function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 128);
    ASK_CU(cuFuncSetAttribute, 9000, function, CU_FUNC_ATTRIBUTE_NUM_REGS, 16);
    ASK_CU(cuFuncSetAttribute, 9000, function, (CUfunction_attribute)99, 1);
    ASK_CU(cuFuncSetAttribute, 9000, NULL, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50);
    ASK_CU(cuFuncGetAttribute, 2020, &value, (CUfunction_attribute)99, function);
    ASK_CU(cuFuncGetAttribute, 2020, NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
    ASK_CU(cuFuncGetAttribute, 2020, &value, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL);
    VALUE("value", value);
    ASK(cudaPeekAtLastError());
});

static const struct case_rule name_rules[] = {
    {&function_name,
     "A kernel's name is that of its symbol. NULL is refused with another code than a pointer that is no kernel."},
    {&function_parameters, "Where a kernel's parameters lie: `int *`, `char` and `double`."},
    {&function_name_without_place, "It needs a place."},
    {&function_parameters_past_the_end,
     "There are no more of them. NULL and other pointers are refused as by `cudaFuncGetName`."},
    {&function_parameters_without_place, "The place for the offset is needed, that for the size is not."},
    {&function_parameters_in_driver, "The same by the driver."},
    {&function_handle, "The driver's handle of a kernel. It needs no place."},
    {&kernel_handle, "The driver's other handle of a kernel."},
};

const struct case_topic topic_function = CASE_TOPIC("Kernels", "What CUDA tells about a kernel.", name_rules);

static const struct case_rule attribute_rules[] = {
    {&attributes_untouched, "The attributes of a kernel for which none was set."},
    {&attributes_untouched_in_driver, "The same by the driver."},
    {&attributes_of_nothing, "NULL is no kernel, and no place for attributes, which is told first."},
    {&set_attribute_of_nothing,
     "NULL has no attributes that can be set; that an attribute does not exist is told first."},
    {&set_attribute_unknown, "Attributes that do not exist, or cannot be set."},
    {&set_read_only_attribute, "The same by the driver."},
    {&set_carveout,
     "The carveout of shared memory is a hint in percent, or -1. An attribute that was set clears the last error."},
    {&set_non_portable_clusters, "Whether clusters of other sizes are allowed: any number comes back."},
    {&set_cluster_policy, "How blocks of a cluster are placed: one of three ways."},
};

const struct case_topic topic_function_attribute =
    CASE_TOPIC("Attributes of kernels", "What is set for a kernel, and what comes back.", attribute_rules);
