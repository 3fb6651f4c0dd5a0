/* breakgraph doctor: what this machine has, what works here, and what the environment says. */
#include "doctor.h"

#include <breakgraph/breakgraph.h>
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug/cli/arguments/assign.h"
#include "debug/cli/arguments/flags.h"
#include "debug/cli/arguments/allowed_values.h"
#include "debug/cli/observe/attach.h"
#include "debug/cli/process/gpu.h"
#include "debug/cli/observe/preloadable.h"
#include "debug/cli/output/exits.h"
#include "answers.h"
#include "probes.h"

/* ---- versions ---- */

static void answer_version(const char *what, cudaError_t error, int version)
{
    if (error == cudaSuccess && version > 0)
        cli_answers_add(what, CLI_FACT, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    else
        cli_answers_add(what, CLI_FACT, "%s", error == cudaSuccess ? "none" : cudaGetErrorName(error));
}

static void answer_versions(void)
{
    int runtime = 0, driver = 0;
    cudaError_t error;
    cli_answers_add("breakgraph", CLI_FACT, "%s, built for %s", bg_version(),
                    strcmp(bg_device_kind(), "host") == 0 ? "the host device" : "NVIDIA's CUDA runtime");
    answer_version("toolkit at build time", cudaSuccess, CUDART_VERSION);
    error = cudaRuntimeGetVersion(&runtime);
    answer_version("runtime", error, runtime);
    error = cudaDriverGetVersion(&driver);
    answer_version("driver, for the runtime", error, driver);
}

/* Reports the machine's GPU, also where this build is for the host device. */
static void answer_gpu(void)
{
    cli_gpu gpu;
    char of[40] = "";
    bool found = cli_gpu_find(&gpu);
    if (found && gpu.count > 1)
        snprintf(of, sizeof of, ", the first of %d GPUs", gpu.count);
    if (found)
        cli_answers_add("GPU", CLI_FACT, "%s, compute capability %d.%d%s, driver for CUDA %d.%d", gpu.name,
                        gpu.capability / 10, gpu.capability % 10, of, gpu.driver_version / 1000,
                        gpu.driver_version % 1000 / 10);
    else if (gpu.error != 0)
        cli_answers_add("GPU", CLI_FACT, "none: %s (CUDA error %d)", gpu.missing, gpu.error);
    else
        cli_answers_add("GPU", CLI_FACT, "none: %s", gpu.missing);
}

/* Call it before any CUDA call: the host device reads its variables at the first one. */
static void check_variables(char **judged)
{
    for (size_t i = 0; i < bg__variables_count; i++) {
        const char *value = getenv(bg__variables[i].name);
        const char *allowed = value != NULL ? cli_variable_check_value(&bg__variables[i], value, true) : NULL;
        if (allowed != NULL)
            judged[i] = strdup(allowed);
    }
}

static void answer_variable(const bg__variable *variable, const char *value, const char *judged)
{
    bool host = strcmp(bg_device_kind(), "host") == 0;
    if (variable->form == BG__FORM_SECRET)
        cli_answers_add(variable->name, CLI_FACT, "set; its value is a secret");
    else if (!host && strcmp(variable->group, "host") == 0)
        cli_answers_add(variable->name, CLI_FACT, "%s; it is for the host device, and does nothing here", value);
    else if (judged == NULL)
        cli_answers_add(variable->name, CLI_WORKS, "%s", value);
    else
        cli_answers_add(variable->name, CLI_BROKEN, "\"%s\"; allowed: %s", value, judged);
}

static int answer_variables(char *const *judged)
{
    int set = 0;
    for (size_t i = 0; i < bg__variables_count; i++) {
        const char *value = getenv(bg__variables[i].name);
        if (value == NULL || value[0] == '\0')
            continue;
        set++;
        answer_variable(&bg__variables[i], value, judged[i]);
    }
    return set;
}

/* Reports misspelt variables, which have no effect. */
static int answer_unknown_variables(void)
{
    char hint[BG__HINT_BYTES];
    int set = 0;
    for (char **entry = environ; *entry != NULL; entry++) {
        char *name = strndup(*entry, strcspn(*entry, "="));
        bool unknown = name != NULL && cli_variable_is_unknown(name, hint);
        if (unknown)
            cli_answers_add(name, CLI_MISSING, "there is no such variable%s", hint);
        set += unknown;
        free(name);
    }
    return set;
}

/* Reports what --attach needs, and whether the shim can be preloaded into program (NULL: none). */
static void answer_attach(const char *program)
{
    static const cli_health healths[] = {[CLI_PRELOAD_WORKS] = CLI_WORKS,
                                         [CLI_PRELOAD_NEVER] = CLI_BROKEN,
                                         [CLI_PRELOAD_STARTED_ONLY] = CLI_MISSING,
                                         [CLI_PRELOAD_MISSING] = CLI_MISSING};
    char folder[PATH_MAX], driver[PATH_MAX], why[CLI_ATTACH_WHY], text[CLI_PRELOAD_TEXT] = "libraries can be preloaded";
    cli_preload preload;

    if (cli_attach_find(folder, driver, why))
        cli_answers_add("--attach", cli_attach_bypasses_gpu(why) ? CLI_BROKEN : CLI_WORKS,
                        "its libraries are in %s, the driver is %s%s%s", folder, driver, why[0] != '\0' ? "; " : "",
                        why);
    else
        cli_answers_add("--attach", CLI_MISSING, "%s", why);
    if (program == NULL)
        return;
    preload = cli_program_examine(program, text);
    cli_answers_add(program, healths[preload], "%s", text);
}

static void run_probes(char **judged, const char *program)
{
    check_variables(judged);
    answer_versions();
    answer_gpu();
    cli_answers_heading("Devices");
    (void)cli_probe_devices();
    cli_answers_heading("System");
    cli_probe_libraries();
    cli_probe_system();
    cli_answers_heading("Programs that do not use breakgraph");
    answer_attach(program);
    cli_answers_heading("Environment");
    if (answer_variables(judged) + answer_unknown_variables() == 0)
        cli_answers_add("variables", CLI_FACT, "none of breakgraph's is set");
}

static int run_doctor(const cli_arguments *arguments)
{
    char **judged = calloc(bg__variables_count, sizeof *judged);
    bool healthy;

    if (judged == NULL)
        return cli_print_message(CLI_FAILED, "out of host memory");
    if (arguments->rest_count > 0 && !arguments->program) {
        free(judged);
        return cli_print_message(CLI_USAGE, "unknown argument '%s'; write: -- PROGRAM", arguments->rest[0]);
    }
    cli_answers_open(cli_given_value(arguments, "--json") != NULL);
    run_probes(judged, arguments->rest_count > 0 ? arguments->rest[0] : NULL);
    healthy = cli_answers_close();
    for (size_t i = 0; i < bg__variables_count; i++)
        free(judged[i]);
    free(judged);
    return healthy ? CLI_OK : CLI_FAILED;
}

static const cli_flag flags[] = {
    {"--json", NULL, NULL, NULL, "print the answers as JSON"},
    {0},
};

const cli_command cli_doctor = {
    .name = "doctor",
    .arguments = "[-- PROGRAM]",
    .text = "check what this machine has and what works; exit status 1 if something is wrong",
    .more = "PROGRAM is not started: its file shows whether --attach works with it.",
    .flags = {flags},
    .run = run_doctor,
};
