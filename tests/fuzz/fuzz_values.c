/* Values of environment variables and flags. The input's first byte chooses a variable, the rest is its value: what the
 * command allows is what the library takes. Then the same as a command line, a line for each argument. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "debug/cli/arguments/flags.h"
#include "debug/cli/arguments/allowed_values.h"
#include "debug/compare/tolerance.h"
#include "runner/config.h"

enum { ARGUMENTS = 8 };

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Other processes, other machines and paths are not asked. */
static bool is_read_here(const char *variable)
{
    static const char *const others[] = {"BG_REPORT", "BG_DOT", "BG_TRACE", "BG_STEP_DUMP", "BG_RANKS_BIND"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i], variable) == 0)
            return false;
    return !starts_with(variable, "HOSTCUDA_");
}

/* ---- what the library says -------------------------------------------------------------------------------------- */

static bool is_flag(const char *variable)
{
    return strcmp(variable, "BG_BREAKABLE") == 0 || strcmp(variable, "BG_FOREIGN_INLINE") == 0 ||
           strcmp(variable, "BG_RANKS_COMPARE") == 0 || strcmp(variable, "BG_NVTX") == 0;
}

static bg_status read_runner(void)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_status status = bg_runner_config_from_env(&config);
    bg_runner_config_clear(&config);
    return status;
}

static bg_status read_eager(void)
{
    bg__override *override = NULL;
    bg_status status = bg__override_create(&override, NULL);
    if (status == BG_OK)
        bg__override_warn_unmatched(override);
    bg__override_free(override);
    return status;
}

/* false: it reads the variable elsewhere, or it is empty, which is as if it were not set. */
static bool library_reads(const char *variable, const char *value, bg_status *status)
{
    bool flag;
    if (value[0] == '\0')
        return false;
    if (is_flag(variable))
        *status = bg__env_flag(variable, &flag);
    else if (starts_with(variable, "BG_RUNNER_"))
        *status = read_runner();
    else if (strcmp(variable, "BG_EAGER_OPS") == 0 && value[0] != '@')
        *status = read_eager();
    else if (strcmp(variable, "BG_TOLERANCE") == 0)
        *status = bg_tolerances_check(value);
    else
        return false;
    return true;
}

static void expect_agreement(const bg__variable *variable, const char *value)
{
    const char *allowed;
    bg_status status;
    bool read;

    FUZZ_EXPECT(setenv(variable->name, value, 1) == 0);
    fuzz_hush();
    fuzz_forget_error();
    read = library_reads(variable->name, value, &status);
    (void)fuzz_unhush();
    if (read && status != BG_OK)
        fuzz_expect_refused(status);
    allowed = cli_variable_check_value(variable, value, false);
    FUZZ_EXPECT(allowed == NULL || strlen(allowed) > 2);
    FUZZ_EXPECT(!read || (allowed == NULL) == (status == BG_OK));
    FUZZ_EXPECT(unsetenv(variable->name) == 0);
}

/* ---- numbers ------------------------------------------------------------------------------------------------------
 */

static void expect_number(const char *text)
{
    double number = 0, again = 0;
    char printed[40];
    if (!bg__parse_number(text, &number))
        return;
    FUZZ_EXPECT(number - number == 0);
    snprintf(printed, sizeof printed, "%.17g", number);
    FUZZ_EXPECT(bg__parse_number(printed, &again) && again == number);
}

static void expect_tolerances(const char *text)
{
    bg__tolerances t = {0};
    if (bg__tolerances_add(&t, text, "fuzz") == BG_OK) {
        for (size_t i = 0; i < t.count; i++) {
            const bg_tolerance *one = &t.list[i].tolerance;
            FUZZ_EXPECT(one->absolute >= 0 && one->relative >= 0);
            FUZZ_EXPECT(one->absolute - one->absolute == 0 && one->relative - one->relative == 0);
        }
    } else {
        FUZZ_EXPECT(starts_with(bg_last_error(), "fuzz: "));
    }
    bg__tolerances_free(&t);
}

/* ---- a command line -----------------------------------------------------------------------------------------------
 */

static const cli_flag flags[] = {
    {"--timeout", "SECONDS", NULL, NULL, "a number"},
    {"--check", .without = "replay", .variable = "BG_CHECK"},
    {"-e", "NAME=VALUE", NULL, NULL, "an assignment"},
    {"--json", NULL, NULL, NULL, "no value"},
    {"--eager-ops", .variable = "BG_EAGER_OPS"},
    {"--tolerance", .variable = "BG_TOLERANCE"},
    {0},
};

static int given; /* arguments */
static bool ran;

/* The next input does not find what this one set. Returns how many arguments it was. */
static int take_back(const cli_given_flag *one)
{
    bool assigned = strcmp(one->flag->name, "-e") == 0;
    char *name = strdup(one->flag->variable != NULL ? one->flag->variable : assigned ? one->value : "NOTHING");
    FUZZ_EXPECT(name != NULL);
    name[strcspn(name, "=")] = '\0';
    FUZZ_EXPECT(unsetenv(name) == 0);
    free(name);
    return assigned ? 2 : 1;
}

static int run_fuzzed(const cli_arguments *arguments)
{
    double seconds = 0;
    int words = arguments->rest_count + arguments->program;
    ran = true;
    for (size_t i = 0; i < arguments->count; i++)
        words += take_back(&arguments->given[i]);
    FUZZ_EXPECT(words == given);
    for (size_t i = 0; i < arguments->count; i++) {
        const cli_given_flag *one = &arguments->given[i];
        FUZZ_EXPECT(one->value != NULL && (cli_flag_value_syntax(one->flag) != NULL || one->value[0] == '\0'));
        FUZZ_EXPECT(cli_given_value(arguments, one->flag->name) != NULL);
    }
    if (cli_read_timeout(arguments, &seconds) == CLI_OK)
        FUZZ_EXPECT(cli_given_value(arguments, "--timeout") == NULL ? seconds == 0 : seconds > 0 && seconds <= 1e6);
    return CLI_OK;
}

static void expect_command_line(char *lines)
{
    static const cli_command command = {
        .name = "fuzzed", .arguments = "-- PROGRAM", .text = "", .flags = {flags}, .run = run_fuzzed};
    char *argv[ARGUMENTS + 2] = {(char *)"fuzzed"}, *line;
    int argc = 1;
    while (argc <= ARGUMENTS && (line = strsep(&lines, "\n")) != NULL) {
        if (strcmp(line, "--help") == 0 || strcmp(line, "-h") == 0 || strchr(line, '@') != NULL)
            return; /* a page, or a file */
        argv[argc++] = line;
    }
    given = argc - 1;
    ran = false;
    fuzz_hush();
    if (cli_command_run(&command, argc, argv) != CLI_OK)
        FUZZ_EXPECT(!ran);
    FUZZ_EXPECT(strlen(fuzz_unhush()) > 10 || ran);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bg__variable *variable;
    char *value;

    if (size == 0)
        return 0;
    variable = &bg__variables[data[0] % bg__variables_count];
    value = fuzz_text(data + 1, size - 1);
    if (is_read_here(variable->name) && value[0] != '@')
        expect_agreement(variable, value);
    expect_number(value);
    expect_tolerances(value);
    expect_command_line(value);
    free(value);
    return 0;
}
