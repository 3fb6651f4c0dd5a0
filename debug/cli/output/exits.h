/* Exit statuses and messages of the command. */
#ifndef BG_CLI_EXITS_H
#define BG_CLI_EXITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* All exit statuses: name, number, meaning. The command `run` returns the status of its program. */
#define CLI_EXIT_MAP(X)                                                                                                \
    X(CLI_OK, 0, "no finding, no difference")                                                                          \
    X(CLI_FAILED, 1, "there are findings, or culprits; or the command itself failed")                                  \
    X(CLI_USAGE, 2, "the command line is wrong")                                                                       \
    X(CLI_NOT_STARTED, 3, "the program does not exist, or cannot be started")                                          \
    X(CLI_NOT_LINKED, 4, "the program does not use libbreakgraph")                                                     \
    X(CLI_NO_CAPTURE, 5, "the program captures no graph")                                                              \
    X(CLI_NO_REPLAY, 6, "the program captures, but no replay succeeds")                                                \
    X(CLI_CRASHED, 7, "a signal ended the program")                                                                    \
    X(CLI_HANGS, 8, "the program ran longer than --timeout")                                                           \
    X(CLI_SILENT, 9, "the program printed nothing that --check could judge")                                           \
    X(CLI_UNREADABLE, 10, "a state file or report cannot be read, or is of another version or command")                \
    X(CLI_NO_MATCH, 11, "a pattern matches no call")                                                                   \
    X(CLI_NONDETERMINISTIC, 12, "the result varies: from run to run, or with the order of work")                       \
    X(CLI_STAYS, 13,                                                                                                   \
      "the fault remains with every op eager, or with all nodes outside of their graphs: it is not in a captured op "  \
      "call, or not in the order of nodes")                                                                            \
    X(CLI_UNJUDGED, 14,                                                                                                \
      "nothing can be judged: no graph to check, replays not compared, status 125, or a crash where a culprit is "     \
      "confirmed")                                                                                                     \
    X(CLI_INTERRUPTED, 130, "interrupted; the same bisect, or step --dump, continues where it stopped")

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

/* Prints a line "breakgraph COMMAND: ..." on standard error, in printable characters. Returns status. */
cli_status cli_print_message(cli_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Like fprintf, but what others wrote becomes printable, newlines too, as bg__print_escaped does. */
void cli_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sets the command that cli_print_message names. */
void cli_set_command_name(const char *command);

/* Whether text on this descriptor may have colours: a terminal, and NO_COLOR is not set. */
bool cli_is_colored(int descriptor);
/* Codes that begin and end a colour; "" unless cli_is_colored(STDOUT_FILENO). */
typedef enum cli_color { CLI_RED, CLI_GREEN, CLI_YELLOW, CLI_BOLD } cli_color;
const char *cli_color_on(cli_color color);
const char *cli_color_off(void);

#endif
