/* The parts of the command breakgraph. It uses the public headers, and debug's files.h, links.h and json.h, and
 * base.h's numbers. */
#ifndef BG_CLI_CLI_H
#define BG_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ---- exit statuses (exits.c) ---------------------------------------------------------------------------------- */

/* Every exit status of the command once: name, number, what it means. run passes its program's own through. */
#define CLI_EXIT_MAP(X)                                                                                                \
    X(CLI_OK, 0, "all is well: no finding, no difference")                                                             \
    X(CLI_FAILED, 1, "there are findings, or culprits; or the command itself failed")                                  \
    X(CLI_USAGE, 2, "the command line is not right")                                                                   \
    X(CLI_NOT_STARTED, 3, "the program is not there, or cannot be started")                                            \
    X(CLI_NOT_LINKED, 4, "the program does not use libbreakgraph")                                                     \
    X(CLI_NO_CAPTURE, 5, "the program captures no graph")                                                              \
    X(CLI_NO_REPLAY, 6, "the program captures, but no replay succeeds")                                                \
    X(CLI_CRASHED, 7, "a signal ended the program")                                                                    \
    X(CLI_HANGS, 8, "the program ran longer than --timeout")                                                           \
    X(CLI_SILENT, 9, "the program printed nothing that --check could judge")                                           \
    X(CLI_UNREADABLE, 10, "a state file or report cannot be read, or is of another version or command")                \
    X(CLI_NO_MATCH, 11, "a pattern matches no call")                                                                   \
    X(CLI_NONDETERMINISTIC, 12, "the same run is good once and bad once")                                              \
    X(CLI_STAYS, 13, "it stays with everything eager: the capture is not at fault")                                    \
    X(CLI_UNJUDGED, 14, "it cannot be judged: the program or --check ends with 125, which tells nothing")              \
    X(CLI_INTERRUPTED, 130, "interrupted; bisect goes on where it was when it is started again")

typedef enum cli_status {
#define CLI_EXIT_ENUM_(name, number, text) name = (number),
    CLI_EXIT_MAP(CLI_EXIT_ENUM_)
#undef CLI_EXIT_ENUM_
} cli_status;

typedef struct cli_exit {
    int number;
    const char *text;
} cli_exit;
extern const cli_exit cli_exits[];
extern const size_t cli_exits_count;

/* A line "breakgraph COMMAND: ..." on standard error; gives status back. */
cli_status cli_say(cli_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Which command cli_say speaks for. */
void cli_say_for(const char *command);

/* Whether text on this descriptor may have colours: a terminal, and NO_COLOR is not set. */
bool cli_is_colored(int descriptor);
/* Text in a colour where standard output is a terminal and NO_COLOR is not set. */
typedef enum cli_color { CLI_RED, CLI_GREEN, CLI_YELLOW, CLI_BOLD } cli_color;
const char *cli_color_on(cli_color color);
const char *cli_color_off(void);

/* ---- commands and flags (tables.c) ---------------------------------------------------------------------------- */

typedef struct cli_flag {
    const char *name;     /* "--debug" */
    const char *value;    /* what it takes: "off|ops" (one of these), "FILE" (anything); NULL: nothing */
    const char *without;  /* what it sets where it is given without a value; NULL: it must have one */
    const char *variable; /* the environment variable that it sets in the program; NULL: none */
    const char *allowed;  /* what that may hold, where it is not value */
    const char *text;
} cli_flag;

typedef struct cli_command {
    const char *name, *arguments, *text;
    const char *more; /* for the page of this command; NULL: nothing */
    const cli_flag *flags;
    size_t flag_count;
    int (*main)(int argc, char **argv);
} cli_command;
extern const cli_command cli_commands[];
extern const size_t cli_commands_count;

/* The flags of run: one for each variable of the library, and behind these its own. */
extern const cli_flag cli_variables[];
extern const size_t cli_variables_count; /* without its own */

/* NULL where there is none. */
const cli_command *cli_command_find(const char *name);

/* ---- command lines (flags.c) ---------------------------------------------------------------------------------- */

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

/* Reads what stands behind a command's name. CLI_OK; else it has said what is wrong, or shown the help: *done. */
cli_status cli_parse(int argc, char **argv, cli_arguments *arguments, bool *done);
void cli_arguments_clear(cli_arguments *arguments);
/* A whole command: its command line read, run with it unless it was only help, and given back. */
int cli_with_arguments(int argc, char **argv, int (*run)(const cli_arguments *arguments));
/* The value that was given last; NULL: none. */
const char *cli_value(const cli_arguments *arguments, const char *flag);
/* A program is there; else says so. */
cli_status cli_need_program(const cli_arguments *arguments);

/* ---- the commands; argv[0] is the command's name -------------------------------------------------------------- */

int cli_help(int argc, char **argv);
int cli_version(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_run(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_step(int argc, char **argv);
int cli_bisect(int argc, char **argv);
int cli_report(int argc, char **argv);

/* The page of one command, or of all where command is NULL. */
void cli_help_print(const cli_command *command, FILE *out);

#endif
