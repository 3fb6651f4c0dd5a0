/* The command breakgraph. */
#include "cli.h"

#include <breakgraph/breakgraph.h>
#include <stdio.h>
#include <string.h>

static int help(int argc, char **argv);

static int version(int argc, char **argv)
{
    if (argc > 1) {
        fprintf(stderr, "breakgraph version: unknown argument '%s'; it takes none\n", argv[1]);
        return CLI_USAGE;
    }
    printf("breakgraph %s (%s)\n", bg_version(), bg_device_kind());
    return CLI_OK;
}

static const struct command {
    const char *name, *usage, *text;
    int (*main)(int argc, char **argv);
} commands[] = {
    {"help", "help", "this page", help},
    {"version", "version", "the library's version and the device that it is built for", version},
    {"doctor", "doctor", "what this machine has and what the environment says; exit status 1 if something is wrong",
     cli_doctor},
    {"run", "run [FLAG...] -- PROGRAM ARG...",
     "start a program that links the library, with its environment set:", cli_run},
};
static const size_t commands_count = sizeof commands / sizeof *commands;

static int help(int argc, char **argv)
{
    if (argc > 1 && argv[0][0] != '-') {
        fprintf(stderr, "breakgraph help: unknown argument '%s'; it takes none\n", argv[1]);
        return CLI_USAGE;
    }
    printf("usage: breakgraph COMMAND\n");
    for (size_t i = 0; i < commands_count; i++)
        printf("  %-32s %s\n", commands[i].usage, commands[i].text);
    printf("      --debug=off|forward|ops|sync|step  BG_DEBUG\n"
           "      --eager-ops=PATTERNS           BG_EAGER_OPS\n"
           "      --no-breaks                    BG_BREAKABLE=0\n"
           "      --foreign-inline               BG_FOREIGN_INLINE=1\n"
           "      --nvtx                         BG_NVTX=1\n\n"
           "Environment of a program that links the library\n");
    for (size_t i = 0; i < cli_variables_count; i++)
        printf("  %-18s %-21s %s\n", cli_variables[i].name,
               cli_variables[i].choices ? cli_variables[i].choices : "PATTERNS", cli_variables[i].text);
    return CLI_OK;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0)
        name = "version";
    for (size_t i = 0; i < commands_count; i++)
        if (strcmp(name, commands[i].name) == 0)
            return argc > 1 ? commands[i].main(argc - 1, argv + 1) : (help(argc, argv), CLI_USAGE);

    fprintf(stderr, "breakgraph: unknown %s '%s'; allowed:", name[0] == '-' ? "flag" : "command", name);
    for (size_t i = 0; i < commands_count; i++)
        fprintf(stderr, " %s", commands[i].name);
    fprintf(stderr, "%s\n", name[0] == '-' ? " --help --version" : "");
    return CLI_USAGE;
}
