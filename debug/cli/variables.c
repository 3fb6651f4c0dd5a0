#include "cli.h"

#include <breakgraph/breakgraph.h>
#include <string.h>

const cli_variable cli_variables[] = {
    {"BG_DEBUG", "off|forward|ops|sync|step",
     "run eagerly: the whole pass, or every op; or wait and check after each step, or node"},
    {"BG_EAGER_OPS", NULL, "the ops that are eager: \"attention,moe_*,rope#3,!sample_*\""},
    {"BG_BREAKABLE", "0|1", "0 captures everything inline"},
    {"BG_FOREIGN_INLINE", "0|1", "1 runs eager ops inline in a capture that breakgraph did not begin"},
    {"BG_CHECK", "off|replay|twice|poison",
     "check before each replay that the addresses in the graph are what they were; or, around bg_capture_forward, "
     "what differs in a second capture, or depends on memory that nobody wrote"},
    {"BG_NVTX", "0|1", "1 shows profilers segments, breaks and ops as NVTX ranges (0 not even an attached one)"},
};
const size_t cli_variables_count = sizeof cli_variables / sizeof *cli_variables;

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

const char *cli_variable_allowed(const cli_variable *variable, const char *value)
{
    if (variable->choices != NULL)
        return is_choice(variable->choices, value) ? NULL : variable->choices;
    if (bg_override_eager(value) == BG_OK) {
        bg_override_eager(NULL);
        return NULL;
    }
    return "names of ops, paths like attention#0/rope#1, '*' for any characters, '!' before a name to capture it, "
           "commas between";
}
