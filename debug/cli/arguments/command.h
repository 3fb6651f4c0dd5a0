/* What a command is, which flags it has, and what a command line gives it. */
#ifndef BG_CLI_COMMAND_H
#define BG_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_flag {
    const char *name;     /* "--debug" */
    const char *value;    /* its value: "off|ops" (one of these), "FILE" (anything); NULL: it takes none */
    const char *without;  /* the value of a flag that is given without one; NULL: a value is required */
    const char *variable; /* the environment variable that it sets, whose row has value and text; NULL: none */
    const char *text;
} cli_flag;

typedef struct cli_given_flag {
    const cli_flag *flag;
    const char *value; /* "": the flag takes none */
} cli_given_flag;

typedef struct cli_arguments {
    cli_given_flag *given; /* in the order of the command line */
    size_t count;
    char **rest; /* the arguments after the flags, ended by NULL */
    int rest_count;
    bool program; /* "--" precedes `rest` */
} cli_arguments;

typedef struct cli_command {
    const char *name;
    const char *arguments; /* after the flags: "-- PROGRAM ARG..."; "": none */
    const char *text;
    const char *more; /* more text for the help of this command; NULL: none */
    /* Lists of flags, each ended by a flag without a name; NULL ends the array. */
    const cli_flag *flags[4];
    int (*run)(const cli_arguments *arguments); /* returns the exit status */
} cli_command;

/* The value that the flag takes, as help shows it: the flag's, or the one of its variable's row. NULL: it takes
 * none. */
const char *cli_flag_value_syntax(const cli_flag *flag);
/* The separator between the flag and its value: "=" of "--flag=VALUE", " " of "-e VALUE"; "": the flag takes no
 * value. */
const char *cli_flag_separator(const cli_flag *flag);
/* Returns flag i of all lists; NULL: there are fewer. */
const cli_flag *cli_command_flag(const cli_command *command, size_t i);

#endif
