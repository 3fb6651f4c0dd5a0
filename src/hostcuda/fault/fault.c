#include "hostcuda/fault/fault.h"

#include "hostcuda/cublas/cublas.h"
#include "hostcuda/driver/driver.h"
#include <hostcuda/hostcuda.h>
#include "hostcuda/core/grow.h"
#include "hostcuda/core/settings.h"
#include "hostcuda/core/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RULES_MAX = 64, NAME_BYTES = 64, COUNT_MAX = 1 << 30, CODE_MAX = 9999 };

struct rule {
    char name[NAME_BYTES]; /* "*": any */
    uint64_t nth, seen;
    int code;
    bool later; /* the call succeeds, and the device fails at the next wait */
};

bool hc_fault_watching;

static struct rule rules[RULES_MAX];
static size_t rule_count;
static bool from_environment;

static const char **calls; /* in the order they came; the names are literals */
static size_t call_count, call_capacity;
static bool recording;

/* ---- reading ------------------------------------------------------------------------------------------------- */

struct code {
    const char *name;
    int value;
};

/* The runtime's and the driver's names, whose numbers agree. */
static const struct code cuda_codes[] = {
#define X(code, text) {#code, code},
#include "hostcuda/core/errors.def"
#undef X
#define X(code) {#code, code},
#include "hostcuda/driver/driver_errors.def"
#undef X
};

/* nccl.h may be missing. */
static const struct code nccl_codes[] = {
    {"ncclSuccess", 0},         {"ncclUnhandledCudaError", 1}, {"ncclSystemError", 2}, {"ncclInternalError", 3},
    {"ncclInvalidArgument", 4}, {"ncclInvalidUsage", 5},       {"ncclRemoteError", 6}, {"ncclInProgress", 7},
};
enum { NCCL_UNHANDLED_CUDA_ERROR = 1 };

static bool find(const struct code *codes, size_t count, const char *name, int *code)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(codes[i].name, name) != 0)
            continue;
        *code = codes[i].value;
        return true;
    }
    return false;
}

static bool find_cuda(const char *name, int *code)
{
    return find(cuda_codes, sizeof cuda_codes / sizeof *cuda_codes, name, code);
}

static bool find_nccl(const char *name, int *code)
{
    return find(nccl_codes, sizeof nccl_codes / sizeof *nccl_codes, name, code);
}

static bool find_cublas(const char *name, int *code)
{
    for (int value = 0; value <= CUBLAS_STATUS_LICENSE_ERROR; value++) {
        if (strcmp(cublasGetStatusName((cublasStatus_t)value), name) != 0)
            continue;
        *code = value;
        return true;
    }
    return false;
}

static bool is_cublas(const char *name)
{
    return strncmp(name, "cublas", 6) == 0;
}

static bool is_nccl(const char *name)
{
    return strncmp(name, "nccl", 4) == 0;
}

/* They report errors or a version, look up a function or open a group, and cannot fail here. */
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

/* The names of the functions behind CUDA's templates and macros. */
static void use_linked_name(char name[NAME_BYTES])
{
    size_t length = strlen(name);
    if (!strcmp(name, "cudaLaunchKernelEx"))
        snprintf(name, NAME_BYTES, "cudaLaunchKernelExC");
    else if (!strcmp(name, "ncclCommInitRankConfig"))
        snprintf(name, NAME_BYTES, "ncclCommInitRank");
    else if (!strcmp(name, "ncclBcast"))
        snprintf(name, NAME_BYTES, "ncclBroadcast");
    else if (length > 3 && !strcmp(name + length - 3, "_v2"))
        name[length - 3] = 0;
}

static bool copy_part(char *to, size_t bytes, const char *from, size_t length)
{
    if (!length || length >= bytes)
        return false;
    memcpy(to, from, length);
    to[length] = 0;
    return strspn(to, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == length;
}

static const char *read_name(struct rule *rule, const char *text, size_t length)
{
    if (length == 1 && *text == '*') {
        rule->name[0] = '*'; /* the rest is zero */
        return NULL;
    }
    if (!copy_part(rule->name, sizeof rule->name, text, length) ||
        (strncmp(rule->name, "cu", 2) != 0 && !is_nccl(rule->name)))
        return "before @ stands no function of CUDA, cuBLAS or NCCL, nor *";
    use_linked_name(rule->name);
    return never_fails(rule->name) ? "that function never fails and is not counted" : NULL;
}

static const char *read_code(struct rule *rule, const char *text, const char *end)
{
    char name[NAME_BYTES];
    uint64_t number = 0;
    bool cublas = is_cublas(rule->name) && !rule->later, nccl = is_nccl(rule->name) && !rule->later;
    bool (*find_code)(const char *, int *) = cublas ? find_cublas : nccl ? find_nccl : find_cuda;
    if (hc_settings_number(text, end, CODE_MAX, &number))
        rule->code = (int)number;
    else if (!copy_part(name, sizeof name, text, (size_t)(end - text)) || !find_code(name, &rule->code))
        return cublas ? "the code is no cublasStatus_t"
               : nccl ? "the code is no ncclResult_t"
                      : "the code is no cudaError_t, nor a CUresult";
    return rule->code ? NULL : "the code is success";
}

/* What is wrong with it, or NULL. */
static const char *read_rule(struct rule *rule, const char *text, const char *end)
{
    size_t length = (size_t)(end - text);
    const char *at = memchr(text, '@', length);
    const char *sign = at ? at + strcspn(at, "=~,") : end;
    *rule = (struct rule){.nth = 0};
    if (!at || sign >= end)
        return at ? "there is no = or ~ with a code" : "there is no @ with a number";
    rule->later = *sign == '~';
    const char *wrong = read_name(rule, text, (size_t)(at - text));
    if (wrong)
        return wrong;
    if (!hc_settings_number(at + 1, sign, COUNT_MAX, &rule->nth) || !rule->nth)
        return "after @ stands no number from 1";
    return read_code(rule, sign + 1, end);
}

static void complain(const char *text, const char *part, size_t length, const char *wrong)
{
    fprintf(stderr,
            "hostcuda: the faults \"%s\": in \"%.*s\" %s; write NAME@N=CODE, for the N-th call of NAME (*: of any) to "
            "fail, or NAME@N~CODE, for the device to fail at the next wait after it; several with commas between; for "
            "example HOSTCUDA_FAIL=cudaGraphInstantiate@2=cudaErrorMemoryAllocation\n",
            text, (int)length, part, wrong);
}

static void watch(void)
{
    hc_fault_watching = recording || rule_count;
}

/* All or nothing. */
static bool set_rules(const char *text)
{
    const char *part = text;
    rule_count = 0;
    watch();
    for (size_t count = 0; *text; count++) {
        size_t length = strcspn(part, ",");
        const char *wrong = count < RULES_MAX ? read_rule(&rules[count], part, part + length) : "begins the 65th fault";
        if (wrong) {
            complain(text, part, length, wrong);
            return false;
        }
        if (!part[length]) {
            rule_count = count + 1;
            break;
        }
        part += length + 1;
    }
    watch();
    return true;
}

bool hc_fault_read(void)
{
    const char *text = getenv("HOSTCUDA_FAIL");
    from_environment = text && *text;
    return !from_environment || set_rules(text);
}

/* ---- calls --------------------------------------------------------------------------------------------------- */

static void record(const char *name)
{
    if (hc_grow(&calls, &call_capacity, call_count + 1, sizeof(*calls))) {
        calls[call_count++] = name;
    } else {
        fprintf(stderr, "hostcuda: no memory to record more than %zu calls\n", call_count);
        recording = false;
    }
}

/* A rule for any call has a code of CUDA's. */
static int code_for(const struct rule *rule, const char *name)
{
    if (*rule->name == '*' && is_cublas(name))
        return (int)hc_cublas_status((cudaError_t)rule->code);
    if (*rule->name == '*' && is_nccl(name))
        return NCCL_UNHANDLED_CUDA_ERROR;
    return rule->code;
}

int hc_fault_call(const char *function)
{
    int code = 0;
    const char *name = hc_driver_name(function);
    if (recording)
        record(name);
    for (size_t i = 0; i < rule_count; i++) {
        struct rule *rule = &rules[i];
        if ((*rule->name != '*' && strcmp(rule->name, name) != 0) || ++rule->seen != rule->nth)
            continue;
        if (rule->later)
            hc_device(hc_thread()->device)->coming = (cudaError_t)rule->code;
        else
            code = code_for(rule, name);
    }
    watch();
    return code;
}

/* A fault that never happened is a test that tested nothing. */
__attribute__((destructor(101))) static void stop(void)
{
    if (!from_environment)
        return;
    hc_lock(); /* other threads may go on */
    for (size_t i = 0; i < rule_count; i++)
        if (rules[i].seen < rules[i].nth)
            fprintf(stderr, "hostcuda: HOSTCUDA_FAIL: %s@%llu did not happen: there were %llu such calls\n",
                    rules[i].name, (unsigned long long)rules[i].nth, (unsigned long long)rules[i].seen);
    hc_unlock();
}

/* ---- for tests ----------------------------------------------------------------------------------------------- */

int hostcuda_fail(const char *faults)
{
    (void)hc_begin_unnamed(); /* the environment's first, if nothing was called yet */
    bool ok = set_rules(faults ? faults : "");
    from_environment = false;
    hc_unlock();
    return ok ? 0 : -1;
}

size_t hostcuda_faults(void)
{
    size_t count = 0;
    hc_lock();
    for (size_t i = 0; i < rule_count; i++)
        count += rules[i].seen >= rules[i].nth;
    hc_unlock();
    return count;
}

void hostcuda_record(int on)
{
    (void)hc_begin_unnamed();
    if (on)
        call_count = 0;
    recording = on != 0;
    watch();
    hc_unlock();
}

const char *hostcuda_call(size_t index)
{
    hc_lock();
    const char *name = index < call_count ? calls[index] : NULL;
    hc_unlock();
    return name;
}

size_t hostcuda_calls(const char *name)
{
    size_t count = 0;
    hc_lock();
    for (size_t i = 0; i < call_count; i++)
        count += !name || !strcmp(name, calls[i]);
    hc_unlock();
    return count;
}
