#include "hostcuda/src/call/fault_rule.h"

#include "hostcuda/src/core/core_number.h"

#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

enum { COUNT_MAX = 1 << 30, CODE_MAX = 9999 };

struct code {
    const char *name;
    int value;
};

/* Names of the runtime and the driver; their numbers agree. */
static const struct code cuda_codes[] = {
#define X(code, text) {#code, code},
#include "hostcuda/src/core/errors.def"
#undef X
#define X(code) {#code, code},
#include "hostcuda/src/core/driver_errors.def"
#undef X
};

static const struct code cublas_codes[] = {
#define X(code, text) {#code, code},
#include "hostcuda/src/core/cublas_statuses.def"
#undef X
};
/* The list is empty if there is no nccl.h. */
static const struct code nccl_codes[] = {
    {"ncclSuccess", 0},         {"ncclUnhandledCudaError", 1}, {"ncclSystemError", 2}, {"ncclInternalError", 3},
    {"ncclInvalidArgument", 4}, {"ncclInvalidUsage", 5},       {"ncclRemoteError", 6}, {"ncclInProgress", 7},
};

/* The codes that functions return, by prefix of the function's name. CUDA's are last and match all other functions. */
static const struct code_list {
    const char *prefix;
    const struct code *codes;
    size_t count;
    const char *wrong;
} code_lists[] = {
    {"cublas", cublas_codes, sizeof cublas_codes / sizeof *cublas_codes, "the code is not a cublasStatus_t"},
    {"nccl", nccl_codes, sizeof nccl_codes / sizeof *nccl_codes, "the code is not an ncclResult_t"},
    {"", cuda_codes, sizeof cuda_codes / sizeof *cuda_codes, "the code is neither a cudaError_t nor a CUresult"},
};

static bool begins_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool find_code(const struct code_list *list, const char *name, int *code)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->codes[i].name, name) != 0)
            continue;
        *code = list->codes[i].value;
        return true;
    }
    return false;
}

/* Functions that report an error or a version, look up a function or open a group cannot fail here. */
static bool never_fails(const char *name)
{
    static const char *const names[] = {
        "cudaGetLastError",      "cudaPeekAtLastError", "cudaGetErrorName", "cudaGetErrorString", "cublasGetStatusName",
        "cublasGetStatusString", "cuGetErrorName",      "cuGetErrorString", "cuGetProcAddress",   "cuDriverGetVersion",
        "ncclGetErrorString",    "ncclGetLastError",    "ncclGetVersion",   "ncclGroupStart"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* Replaces the name of a template or macro of CUDA's headers by the function that it calls. */
static void use_linked_name(char name[HC_FAULT_NAME_BYTES])
{
    size_t length = strlen(name);
    if (!strcmp(name, "cudaLaunchKernelEx"))
        snprintf(name, HC_FAULT_NAME_BYTES, "cudaLaunchKernelExC");
    else if (!strcmp(name, "ncclCommInitRankConfig"))
        snprintf(name, HC_FAULT_NAME_BYTES, "ncclCommInitRank");
    else if (!strcmp(name, "ncclBcast"))
        snprintf(name, HC_FAULT_NAME_BYTES, "ncclBroadcast");
    else if (length > 3 && !strcmp(name + length - 3, "_v2"))
        name[length - 3] = 0;
}

/* Returns false if the text is empty, does not fit, or is no identifier. */
static bool copy_identifier(char *to, size_t bytes, const char *from, size_t length)
{
    if (!length || length >= bytes)
        return false;
    memcpy(to, from, length);
    to[length] = 0;
    return strspn(to, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == length;
}

static const char *read_fault_name(struct hc_fault_rule *rule, const char *text, size_t length)
{
    if (length == 1 && *text == '*') {
        rule->name[0] = '*'; /* the rest of the name is zero */
        return NULL;
    }
    if (!copy_identifier(rule->name, sizeof rule->name, text, length) ||
        (!begins_with(rule->name, "cu") && !begins_with(rule->name, "nccl")))
        return "the name before @ must be a function of CUDA, cuBLAS or NCCL, or *";
    use_linked_name(rule->name);
    return never_fails(rule->name) ? "that function never fails and is not counted" : NULL;
}

static const char *read_code(struct hc_fault_rule *rule, const char *text, const char *end)
{
    char name[HC_FAULT_NAME_BYTES];
    uint64_t number = 0;
    const struct code_list *list = code_lists;
    while (*list->prefix && (rule->later || !begins_with(rule->name, list->prefix)))
        list++;
    if (hc_number_read(text, end, CODE_MAX, &number))
        rule->code = (int)number;
    else if (!copy_identifier(name, sizeof name, text, (size_t)(end - text)) || !find_code(list, name, &rule->code))
        return list->wrong;
    return rule->code ? NULL : "the code is success";
}

const char *hc_fault_rule_read(struct hc_fault_rule *rule, const char *text, const char *end)
{
    bool tools = begins_with(text, HC_FAULT_TOOLS);
    if (tools)
        text += sizeof HC_FAULT_TOOLS - 1;
    const char *at = memchr(text, '@', (size_t)(end - text));
    const char *sign = at ? at + strcspn(at, "=~,") : end;
    *rule = (struct hc_fault_rule){.nth = 0, .tools = tools};
    if (!at || sign >= end)
        return at ? "=CODE or ~CODE is missing" : "@N, the number of the call, is missing";
    rule->later = *sign == '~';
    const char *wrong = read_fault_name(rule, text, (size_t)(at - text));
    if (wrong)
        return wrong;
    if (!hc_number_read(at + 1, sign, COUNT_MAX, &rule->nth) || !rule->nth)
        return "the number behind @ must be 1 or more";
    return read_code(rule, sign + 1, end);
}
