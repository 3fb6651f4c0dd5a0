/* The command breakgraph. Each of its folders uses only the folders before it: output, process, arguments, ranks,
 * observe, recapture, bisect and doctor, commands. They use the public headers, the table of environment variables,
 * debug/files, debug/step/dump_index.h and base/. */
#include <breakgraph/breakgraph.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "debug/cli/arguments/flags.h"
#include "debug/cli/arguments/help.h"
#include "debug/cli/bisect/bisect_command.h"
#include "debug/cli/commands/commands.h"
#include "debug/cli/doctor/doctor.h"
#include "debug/cli/output/exits.h"

static int print_version(const cli_arguments *arguments)
{
    (void)arguments;
    printf("breakgraph %s (%s)\n", bg_version(), bg_device_kind());
    return CLI_OK;
}

/* It has no member `run`: main calls print_help, which needs the list of all commands. */
static const cli_command help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .text = "show the whole help, or the page of one command",
};
static const cli_command version = {
    .name = "version",
    .arguments = "",
    .text = "show the library's version and the device that it is built for",
    .run = print_version,
};
static const cli_command *const commands[] = {&help,      &version,  &cli_doctor, &cli_run,
                                              &cli_check, &cli_step, &cli_bisect, &cli_report};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

/* Returns NULL if there is no such command. */
static const cli_command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int reject_command(const char *name)
{
    bool flag = name[0] == '-';
    size_t lead = strspn(name, "-");
    bg__nearest nearest = bg__nearest_begin(name + lead, strlen(name + lead));
    char hint[BG__HINT_BYTES];

    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!flag || commands[i] == &help || commands[i] == &version)
            bg__nearest_add(&nearest, commands[i]->name, strlen(commands[i]->name));
    return cli_print_message(CLI_USAGE, "unknown %s '%s'%s; 'breakgraph help' lists the commands",
                             flag ? "flag" : "command", name, bg__nearest_hint(&nearest, flag ? "--" : "", hint));
}

static int print_help(int argc, char **argv)
{
    const cli_command *command = argc > 1 ? find_command(argv[1]) : NULL;
    cli_set_command_name("help");
    if (argc > 2)
        return cli_print_message(CLI_USAGE, "unexpected argument '%s'; help takes the name of one command", argv[2]);
    if (argc > 1 && command == NULL && strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0)
        return reject_command(argv[1]);
    if (command != NULL)
        cli_help_print(command, stdout);
    else
        cli_help_print_all(commands, COMMAND_COUNT, stdout);
    return CLI_OK;
}

/* Reports output that was lost, as on a full disk. */
static int flush_output(int status)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0)
        return status;
    (void)cli_print_message(CLI_FAILED, "standard output cannot be written: %s", strerror(errno));
    return status == CLI_OK ? CLI_FAILED : status;
}

/* If a standard stream is closed, the next file that is opened would get its number, and would receive what is printed.
 * /dev/null takes the number instead: reads and writes fail as on a closed stream, and started programs do not inherit
 * it. Returns false, with errno, if that fails. */
static bool reserve_standard_streams(void)
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
    if (!reserve_standard_streams())
        return cli_print_message(CLI_FAILED, "/dev/null cannot be opened: %s", strerror(errno));
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0)
        name = "version";
    command = find_command(name);
    if (command == NULL)
        return reject_command(name);
    if (argc > 1)
        return flush_output(command == &help ? print_help(argc - 1, argv + 1)
                                             : cli_command_run(command, argc - 1, argv + 1));
    cli_help_print_short(stdout);
    return flush_output(CLI_USAGE);
}
