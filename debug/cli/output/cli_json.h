/* JSON that the command reads and writes. */
#ifndef BG_CLI_JSON_H
#define BG_CLI_JSON_H

#include <cjson/cJSON.h>

/* The member as text; "": there is none, or it is no text. */
const char *cli_json_text(const cJSON *object, const char *name);
/* The member as a number; 0: there is none, or it is no number. */
double cli_json_number(const cJSON *object, const char *name);

/* Prints `root` on standard output, indented, as valid UTF-8 whatever its strings contain. */
void cli_json_print(const cJSON *root);

#endif
