/* Checks values of flags and variables: rejects what the library would reject or ignore. The messages quote the table
 * of variables. */
#include "allowed_values.h"

#include <breakgraph/breakgraph.h>
#include <ctype.h>
#include <cuda_runtime_api.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "debug/cli/output/cli_files.h"
#include "debug/files/links.h"
#include "debug/step/dump_index.h"

static char allowed_text[BG__ALLOWED_BYTES];

/* ---- forms that the library reads ---- */

static bool are_patterns(const char *value)
{
    size_t bytes = 0;
    char *list = value[0] == '@' ? cli_file_read(value + 1, true, &bytes) : strdup(value);
    bool are = list != NULL;

    if (are && value[0] == '@')
        cli_patterns_join(list);
    are = are && bg_override_eager(list) == BG_OK;
    bg_override_eager(NULL);
    free(list);
    return are;
}

static bool are_nodes(const char *value)
{
    size_t bytes = 0;
    char *list = value[0] == '@' ? cli_file_read(value + 1, true, &bytes) : strdup(value);
    bool are = list != NULL && bg__variable_check_nodes(list);
    free(list);
    return are;
}

void cli_patterns_join(char *list)
{
    size_t bytes = strlen(list);
    while (bytes > 0 && (isspace((unsigned char)list[bytes - 1]) || list[bytes - 1] == ','))
        list[--bytes] = '\0';
    for (; *list != '\0'; list++)
        if (*list == '\n')
            *list = ',';
}

/* "BG_RUNNER_MAX_TOKENS" is the key "max_tokens". */
static bool fits_runner(const char *variable, const char *value)
{
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    char key[64];
    size_t length = 0;
    bg_status status;

    for (const char *c = variable + strlen("BG_RUNNER_"); *c != '\0' && length + 1 < sizeof key; c++)
        key[length++] = (char)tolower((unsigned char)*c);
    key[length] = '\0';
    status = bg_runner_config_set(&config, key, value);
    bg_runner_config_clear(&config);
    return status == BG_OK;
}

/* Resolves the name as libbreakgraph_nccl does, which the command does not link. */
static bool is_address(const char *value)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    if (getaddrinfo(value, NULL, &hints, &found) != 0)
        return false;
    freeaddrinfo(found);
    return true;
}

/* Does not return. The exit status is not 0 if the host device rejects the value. Makes the CUDA call twice, since
 * HOSTCUDA_FAIL may make the first call fail with the same error. */
static void try_variable(const char *variable, const char *value)
{
    int devices = 0;
    for (size_t i = 0; i < bg__variables_count; i++)
        if (strcmp(bg__variables[i].group, "host") == 0)
            (void)unsetenv(bg__variables[i].name);
    (void)close(STDERR_FILENO);
    _exit(setenv(variable, value, 1) == 0 && cudaGetDeviceCount(&devices) == cudaErrorInitializationError &&
          cudaGetDeviceCount(&devices) == cudaErrorInitializationError);
}

/* Forks, since the host device reads its variables once in a process. */
static bool fits_host(const char *variable, const char *value)
{
    int status = 0;
    pid_t pid;

    if (strcmp(bg_device_kind(), "host") != 0)
        return true;
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0)
        try_variable(variable, value);
    return pid < 0 || waitpid(pid, &status, 0) != pid || status == 0;
}

/* ---- paths ---- */

/* Whether the path is a directory that can be written into. */
static bool is_writable_directory(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode) && access(path, W_OK | X_OK) == 0;
}

/* Whether the file can be written. The library replaces a regular file by a new one, so its directory counts. */
static bool is_writable(const char *path)
{
    struct stat about;
    char *target, *slash;
    bool is;

    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return !S_ISDIR(about.st_mode) && access(path, W_OK) == 0;
    target = bg__link_resolve(path);
    slash = target != NULL ? strrchr(target, '/') : NULL;
    if (slash != NULL)
        slash[slash == target] = '\0'; /* the file's directory */
    is = target != NULL && is_writable_directory(slash != NULL ? target : ".");
    free(target);
    return is;
}

/* Whether a dump can be written to the directory. A dump creates a missing directory, so this tries to create it. */
static bool can_take_dump(const char *path)
{
    cJSON *stopped;
    if (bg__dump_index_read(path, &stopped) != BG_OK)
        return false;
    cJSON_Delete(stopped);
    if (mkdir(path, 0777) == 0)
        return rmdir(path) == 0;
    return errno == EEXIST && is_writable_directory(path);
}

/* ---- all of them ---- */

static bool fits_path(bg__form form, const char *value)
{
    switch (form) {
    case BG__FORM_DIRECTORY: return is_writable_directory(value);
    case BG__FORM_FILE: return is_writable(value);
    case BG__FORM_DUMP: return can_take_dump(value);
    default: return true;
    }
}

static bool fits_variable(const bg__variable *variable, const char *value)
{
    uint64_t first, last;
    double number;
    unsigned set;
    int index;

    if (strcmp(variable->group, "runner") == 0)
        return fits_runner(variable->name, value);
    switch (variable->form) {
    case BG__FORM_CHOICE: return bg__variable_parse_choice(variable, value, &index);
    case BG__FORM_CHOICES: return bg__variable_parse_choices(variable, value, &set);
    case BG__FORM_INTEGER:
    case BG__FORM_SECONDS: return bg__variable_parse_number(variable, value, &number);
    case BG__FORM_RANGE: return bg__variable_parse_range(value, &first, &last);
    case BG__FORM_PATTERNS: return are_patterns(value);
    case BG__FORM_NODES: return are_nodes(value);
    case BG__FORM_TOLERANCES: return bg_tolerances_check(value) == BG_OK;
    case BG__FORM_ADDRESS: return is_address(value);
    case BG__FORM_HOST: return fits_host(variable->name, value);
    default: return true;
    }
}

const char *cli_variable_check_value(const bg__variable *variable, const char *value, bool paths)
{
    if (value[0] == '\0' || (fits_variable(variable, value) && (!paths || fits_path(variable->form, value))))
        return NULL;
    return bg__variable_describe_allowed(variable, value, allowed_text);
}

/* Whether the command writes the file at its end. A state file does not count: its errors have an exit status of their
 * own. */
static bool is_written_by_command(const cli_flag *flag, const char *value)
{
    return strcmp(flag->name, "--state") != 0 && strcmp(value, "-") != 0;
}

/* The variable whose values the flag takes without setting it; NULL: none. */
static const bg__variable *find_similar_variable(const cli_flag *flag, const char *value)
{
    if (strcmp(flag->value, "PATTERNS") == 0)
        return bg__variable_find("BG_EAGER_OPS");
    if (strcmp(flag->value, "SPEC") == 0)
        return bg__variable_find("BG_TOLERANCE");
    if (strcmp(flag->value, "FILE") == 0 && is_written_by_command(flag, value))
        return bg__variable_find("BG_TRACE");
    if (strcmp(flag->name, "--dump") == 0)
        return bg__variable_find("BG_STEP_DUMP");
    return strcmp(flag->name, "--dot") == 0 ? bg__variable_find("BG_DOT") : NULL;
}

const char *cli_flag_check_value(const cli_flag *flag, const char *value)
{
    const bg__variable choice = {.form = BG__FORM_CHOICE, .group = "", .values = flag->value}, *like;
    if (flag->variable != NULL)
        return cli_variable_check_value(bg__variable_find(flag->variable), value, false);
    if (strchr(flag->value, '|') != NULL)
        return cli_variable_check_value(&choice, value, false);
    like = find_similar_variable(flag, value);
    return like != NULL ? cli_variable_check_value(like, value, true) : NULL;
}
