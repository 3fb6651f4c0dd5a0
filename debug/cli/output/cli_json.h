/* JSON that the command reads and writes. */
#ifndef BG_CLI_JSON_H
#define BG_CLI_JSON_H

#include <cjson/cJSON.h>

/* A member that is text; "" where it is not there. */
const char *cli_text(const cJSON *object, const char *name);
/* A member that is a number; 0 where it is not there. */
double cli_number(const cJSON *object, const char *name);

/* Indented, in UTF-8 whatever its strings hold, on standard output. */
void cli_json_print(const cJSON *root);

#endif
