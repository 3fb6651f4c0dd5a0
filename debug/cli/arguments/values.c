/* Which values flags and variables may have: what the library would refuse or ignore is refused here. */
#include "values.h"

#include <breakgraph/breakgraph.h>
#include <ctype.h>
#include <cuda_runtime_api.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "debug/cli/output/place.h"
#include "debug/report/links.h"

static char told[1024]; /* what is allowed, where it is no literal */
static const char place[] = "directories that are there and can be written into";
static const char writable[] = "files that can be written, in directories that are there";

static bool is_choice(const char *choices, const char *value)
{
    size_t length = strlen(value);
    for (;;) {
        size_t choice = strcspn(choices, "|");
        if (choice == length && memcmp(choices, value, length) == 0)
            return true;
        if (choices[choice] == '\0')
            return false;
        choices += choice + 1;
    }
}

/* Of a sentence that says what is wrong, the end that says what is allowed; before it the value may hold the same
 * words.
 */
static const char *rest_of(const char *sentence)
{
    static const char *const leads[] = {"allowed are ", "; write "};
    const char *rest = sentence;
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
        for (const char *at = sentence; (at = strstr(at, leads[i])) != NULL;) {
            at += strlen(leads[i]);
            rest = at > rest ? at : rest;
        }
    }
    snprintf(told, sizeof told, "%s", rest);
    told[strcspn(told, "\n")] = '\0';
    return told;
}

/* ---- the library's own forms ---- */

#define PATTERNS                                                                                                       \
    "names of ops, paths like attention#0/rope#1, '*' for any characters, '!' before a name to capture it, "           \
    "commas between"

static const char *allow_patterns(const char *value)
{
    if (bg_override_eager(value) != BG_OK)
        return PATTERNS;
    bg_override_eager(NULL);
    return NULL;
}

static const char *allow_pattern_file(const char *path)
{
    size_t bytes = 0;
    char *list = cli_file_read(path, true, &bytes);
    const char *allowed;

    if (list == NULL) {
        snprintf(told, sizeof told, PATTERNS "; or @FILE, which must be there (%s)", bg_last_error());
        return told;
    }
    cli_patterns_join(list);
    allowed = allow_patterns(list);
    free(list);
    return allowed;
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

static const char *allow_tolerances(const char *value)
{
    return bg_tolerances_check(value) == BG_OK
               ? NULL
               : "abs=X, rel=X or ulp=N, several with commas, after a dtype or a pattern of op calls and a colon, and "
                 "';' between: \"f16:ulp=4; attention:rel=1e-3,abs=1e-6\"";
}

/* "BG_RUNNER_MAX_TOKENS" is the key "max_tokens". */
static const char *allow_runner(const char *variable, const char *value)
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
    return status == BG_OK ? NULL : rest_of(bg_last_error());
}

/* ---- what libraries read that the command does not have in it ---- */

/* libbreakgraph_nccl's. */
static const char *allow_seconds(const char *value, bool never)
{
    double seconds;
    bool fits = bg__number_read(value, &seconds) && seconds <= 1e6;
    if (fits && (seconds > 0 || (never && seconds < 0)))
        return NULL;
    return never ? "seconds, above 0 and up to 1000000, or a number below 0 for never"
                 : "seconds, above 0 and up to 1000000";
}

static const char *allow_address(const char *value)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    int error = getaddrinfo(value, NULL, &hints, &found);
    if (error != 0)
        return "names and addresses that this machine knows";
    freeaddrinfo(found);
    return NULL;
}

/* The host device's, read when a rank first waits. */
static const char *allow_wait(const char *value)
{
    char *end = NULL;
    long seconds;
    errno = 0;
    seconds = strtol(value, &end, 10);
    return errno == 0 && end != value && *end == '\0' && seconds >= 1 && seconds <= 1000000 ? NULL
                                                                                            : "1 to 1000000 (seconds)";
}

/* Does not return: the host device reads its variables at the first call, and says what is wrong with one. */
static void try_variable(const char *variable, const char *value, int out)
{
    static const char *const all[] = {"HOSTCUDA_DEVICES", "HOSTCUDA_SEED", "HOSTCUDA_MEMORY", "HOSTCUDA_FAIL"};
    int devices = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        (void)unsetenv(all[i]);
    if (setenv(variable, value, 1) == 0 && dup2(out, STDERR_FILENO) >= 0)
        (void)cudaGetDeviceCount(&devices);
    (void)fflush(stderr);
    _exit(0);
}

/* What it says, in a process of its own, for it reads them once. */
static const char *allow_host(const char *variable, const char *value)
{
    char said[sizeof told] = "";
    size_t used = 0;
    ssize_t got = 1;
    int ends[2];
    pid_t pid;

    if (strcmp(bg_device_kind(), "host") != 0)
        return NULL;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    (void)fflush(NULL);
    pid = fork();
    if (pid == 0)
        try_variable(variable, value, ends[1]);
    (void)close(ends[1]);
    while (pid > 0 && got > 0 && used + 1 < sizeof said) {
        got = read(ends[0], said + used, sizeof said - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    (void)close(ends[0]);
    if (pid > 0)
        (void)waitpid(pid, NULL, 0);
    said[used] = '\0';
    return strncmp(said, "hostcuda: ", 10) == 0 ? rest_of(said + 10) : NULL;
}

/* ---- paths ---- */

/* A directory that can be written into. */
static bool is_place(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode) && access(path, W_OK | X_OK) == 0;
}

/* A file that can be written; the library takes another one's place, by its directory. */
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
        slash[slash == target] = '\0'; /* its directory */
    is = target != NULL && is_place(slash != NULL ? target : ".");
    free(target);
    return is;
}

/* ---- all of them ---- */

static const char *allows(const char *variable, const char *kind, const char *value)
{
    if (strchr(kind, '|') != NULL)
        return is_choice(kind, value) ? NULL : kind;
    if (strcmp(variable, "BG_EAGER_OPS") == 0 && value[0] == '@')
        return allow_pattern_file(value + 1);
    if (strcmp(kind, "PATTERNS") == 0)
        return allow_patterns(value);
    if (strncmp(variable, "BG_RUNNER_", 10) == 0)
        return allow_runner(variable, value);
    if (strncmp(variable, "BG_RANKS_", 9) == 0)
        return strcmp(kind, "ADDRESS") == 0 ? allow_address(value)
                                            : allow_seconds(value, strcmp(variable, "BG_RANKS_WATCHDOG") == 0);
    if (strcmp(variable, "HOSTCUDA_NCCL_TIMEOUT") == 0)
        return allow_wait(value);
    if (strncmp(variable, "HOSTCUDA_", 9) == 0)
        return allow_host(variable, value);
    return strcmp(kind, "SPEC") == 0 ? allow_tolerances(value) : NULL;
}

/* What the command itself writes at its end; but for a state, whose errors have a status of their own. */
static bool is_written_by_command(const cli_flag *flag)
{
    return flag->variable == NULL && strcmp(flag->name, "--state") != 0;
}

const char *cli_flag_allowed(const cli_flag *flag, const char *value)
{
    bool path = is_written_by_command(flag) && strcmp(value, "-") != 0;
    if (path && strcmp(flag->value, "FILE") == 0 && !is_writable(value))
        return writable;
    if (path && strcmp(flag->name, "--dot") == 0 && !is_place(value))
        return place;
    return allows(flag->variable != NULL ? flag->variable : "", flag->value, value);
}

const char *cli_variable_allowed(const cli_flag *variable, const char *value)
{
    const char *name = variable->variable, *kind = variable->allowed != NULL ? variable->allowed : variable->value;
    struct stat about;
    char *index;
    bool dumped;

    if ((strcmp(name, "BG_REPORT") == 0 || strcmp(name, "BG_DOT") == 0) && !is_place(value))
        return place;
    if (strcmp(name, "BG_TRACE") == 0 && !is_writable(value))
        return writable;
    if (strcmp(name, "BG_STEP_DUMP") == 0) {
        index = cli_path(value, "index.json");
        dumped = index != NULL && lstat(index, &about) == 0;
        free(index);
        return dumped ? "a directory without an index.json: dumps are not overwritten" : NULL;
    }
    return allows(name, kind, value);
}
