/* What a command is, which flags it has, and what a command line gives it. */
#ifndef BG_CLI_COMMAND_H
#define BG_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_flag {
    const char *name;     /* "--debug" */
    const char *value;    /* what it takes: "off|ops" (one of these), "FILE" (anything); NULL: nothing */
    const char *without;  /* what it sets where it is given without a value; NULL: it must have one */
    const char *variable; /* the environment variable that it sets, whose row tells value and text; NULL: none */
    const char *text;
} cli_flag;

typedef struct cli_given {
    const cli_flag *flag;
    const char *value; /* "" where it takes none */
} cli_given;

typedef struct cli_arguments {
    cli_given *given; /* in the order of the command line */
    size_t count;
    char **rest; /* behind the flags, NULL ends them */
    int rest_count;
    bool program; /* "--" stands before the rest */
} cli_arguments;

typedef struct cli_command {
    const char *name;
    const char *arguments; /* behind its flags: "-- PROGRAM ARG..."; "" where it takes none */
    const char *text;
    const char *more; /* for the page of this command; NULL: nothing */
    /* Lists, one behind the other, each ended by a flag without a name; NULL ends them. */
    const cli_flag *flags[4];
    int (*run)(const cli_arguments *arguments); /* gives the exit status */
} cli_command;

/* What the flag takes, its own or its variable's; NULL: nothing. */
const char *cli_flag_value(const cli_flag *flag);
/* What stands between the flag and its value: "--flag=VALUE", "-e VALUE"; "" where it takes none. */
const char *cli_flag_sign(const cli_flag *flag);
/* The i-th flag; NULL behind the last. */
const cli_flag *cli_command_flag(const cli_command *command, size_t i);

#endif
