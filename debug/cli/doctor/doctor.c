/* breakgraph doctor: what this machine has, what works here, and what the environment says. */
#include "doctor.h"

#include <breakgraph/breakgraph.h>
#include <cjson/cJSON.h>
#include <cuda_runtime_api.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "debug/cli/output/json.h"
#include "debug/cli/arguments/values.h"

enum { DOCTOR_VERSION = 1 };

static cJSON *answers; /* NULL: they are printed as they come */
static bool broken;
static const char *const health_names[] = {"works", "missing", "broken", "told"};

void cli_answer(const char *what, cli_health health, const char *format, ...)
{
    static const char *const marks[] = {"✓", "–", "✗", " "};
    static const cli_color colors[] = {CLI_GREEN, CLI_YELLOW, CLI_RED, CLI_BOLD};
    char text[1024];
    va_list arguments;
    cJSON *item;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    broken = broken || health == CLI_BROKEN;
    if (answers == NULL) {
        printf("%s%s%s %-24s %s\n", cli_color_on(colors[health]), marks[health], cli_color_off(), what, text);
        return;
    }
    item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "what", what);
    cJSON_AddStringToObject(item, "health", health_names[health]);
    cJSON_AddStringToObject(item, "text", text);
    cJSON_AddItemToArray(answers, item);
}

/* ---- versions ---- */

static void tell_version(const char *what, cudaError_t error, int version)
{
    if (error == cudaSuccess && version > 0)
        cli_answer(what, CLI_TOLD, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    else
        cli_answer(what, CLI_TOLD, "%s", error == cudaSuccess ? "none" : cudaGetErrorName(error));
}

static void tell_versions(void)
{
    int runtime = 0, driver = 0;
    cudaError_t error;
    cli_answer("breakgraph", CLI_TOLD, "%s, built for %s", bg_version(),
               strcmp(bg_device_kind(), "host") == 0 ? "the host device" : "NVIDIA's CUDA runtime");
    tell_version("toolkit at build time", cudaSuccess, CUDART_VERSION);
    error = cudaRuntimeGetVersion(&runtime);
    tell_version("runtime", error, runtime);
    error = cudaDriverGetVersion(&driver);
    tell_version("driver, for the runtime", error, driver);
}

/* The machine's own GPU, whatever this is built for. */
static void tell_gpu(void)
{
    cli_gpu gpu;
    if (cli_gpu_find(&gpu))
        cli_answer("GPU", CLI_TOLD, "%s, compute capability %d.%d%s, driver for CUDA %d.%d", gpu.name,
                   gpu.capability / 10, gpu.capability % 10, gpu.count > 1 ? ", and more" : "",
                   gpu.driver_version / 1000, gpu.driver_version % 1000 / 10);
    else if (gpu.error != 0)
        cli_answer("GPU", CLI_TOLD, "none: %s (CUDA error %d)", gpu.missing, gpu.error);
    else
        cli_answer("GPU", CLI_TOLD, "none: %s", gpu.missing);
}

/* Before any CUDA call: the host device reads its variables at the first. */
static void judge_variables(char **judged)
{
    for (size_t i = 0; i < cli_variables_count; i++) {
        const char *value = getenv(cli_variables[i].variable), *allowed = NULL;
        if (value != NULL && value[0] != '\0')
            allowed = cli_variable_allowed(&cli_variables[i], value);
        if (allowed != NULL)
            judged[i] = strdup(allowed);
    }
}

static void tell_variables(char *const *judged)
{
    bool host = strcmp(bg_device_kind(), "host") == 0;
    int set = 0;
    for (size_t i = 0; i < cli_variables_count; i++) {
        const char *name = cli_variables[i].variable, *value = getenv(name);
        if (value == NULL || value[0] == '\0')
            continue;
        set++;
        if (!host && strncmp(name, "HOSTCUDA_", 9) == 0)
            cli_answer(name, CLI_TOLD, "%s; it is for the host device, and does nothing here", value);
        else if (judged[i] == NULL)
            cli_answer(name, CLI_WORKS, "%s", value);
        else
            cli_answer(name, CLI_BROKEN, "\"%s\"; allowed: %s", value, judged[i]);
    }
    if (set == 0)
        cli_answer("variables", CLI_TOLD, "none of breakgraph's is set");
}

static void heading(const char *text)
{
    if (answers == NULL)
        printf("\n%s%s%s\n", cli_color_on(CLI_BOLD), text, cli_color_off());
}

static void ask(char **judged)
{
    judge_variables(judged);
    tell_versions();
    tell_gpu();
    heading("Devices");
    (void)cli_probe_devices();
    heading("System");
    cli_probe_libraries();
    cli_probe_system();
    heading("Environment");
    tell_variables(judged);
}

static void print_json(void)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "breakgraph", bg_version());
    cJSON_AddNumberToObject(root, "doctor_version", DOCTOR_VERSION);
    cJSON_AddBoolToObject(root, "healthy", !broken);
    cJSON_AddItemReferenceToObject(root, "answers", answers);
    cli_json_print(root);
    cJSON_Delete(root);
}

static int examine(const cli_arguments *arguments)
{
    char **judged = calloc(cli_variables_count, sizeof *judged);
    if (judged == NULL)
        return cli_say(CLI_FAILED, "no host memory");
    answers = cli_value(arguments, "--json") != NULL ? cJSON_CreateArray() : NULL;
    ask(judged);
    if (answers != NULL)
        print_json();
    cJSON_Delete(answers);
    for (size_t i = 0; i < cli_variables_count; i++)
        free(judged[i]);
    free(judged);
    return broken ? CLI_FAILED : CLI_OK;
}

int cli_doctor(int argc, char **argv)
{
    return cli_with_arguments(argc, argv, examine);
}
