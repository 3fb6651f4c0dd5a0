/* The command breakgraph. */
#include "cli.h"

#include <breakgraph/breakgraph.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int print_version(const cli_arguments *arguments)
{
    (void)arguments;
    printf("breakgraph %s (%s)\n", bg_version(), bg_device_kind());
    return CLI_OK;
}

int cli_version(int argc, char **argv)
{
    return cli_with_arguments(argc, argv, print_version);
}

static int refuse(const char *name)
{
    bool flag = name[0] == '-';
    fprintf(stderr, "breakgraph: unknown %s '%s'; allowed:", flag ? "flag" : "command", name);
    for (size_t i = 0; i < cli_commands_count; i++)
        fprintf(stderr, " %s", cli_commands[i].name);
    fprintf(stderr, "%s\n", flag ? " --help --version" : "");
    return CLI_USAGE;
}

/* What was printed may not have come through: a disk that is full. */
static int flush(int status)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return status;
    (void)cli_say(CLI_FAILED, "standard output cannot be written: %s", strerror(errno));
    return status == CLI_OK ? CLI_FAILED : status;
}

/* Where a standard stream is closed, the next descriptor would take its number, and get what is printed. What stands
 * there instead fails as a closed one does, and is closed in programs that are started. false with errno. */
static bool hold_streams(void)
{
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 &&
            open("/dev/null", (descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "help";
    const cli_command *command;
    if (!hold_streams())
        return cli_say(CLI_FAILED, "/dev/null cannot be opened: %s", strerror(errno));
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0)
        name = "version";
    command = cli_command_find(name);
    if (command == NULL)
        return refuse(name);
    if (argc > 1) {
        argv[1] = (char *)command->name;
        return flush(command->main(argc - 1, argv + 1));
    }
    cli_help_print(NULL, stdout);
    return flush(CLI_USAGE);
}
