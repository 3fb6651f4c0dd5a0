/* JSON that the command writes. */
#ifndef BG_CLI_JSON_H
#define BG_CLI_JSON_H

#include <cjson/cJSON.h>

#include "cli.h"

/* As cJSON_Print, in UTF-8 whatever the strings hold: U+FFFD stands for each byte that is part of no character.
 * cJSON_free takes it; NULL: no host memory. */
char *cli_json_text(const cJSON *root, bool indented);
/* That, indented, on standard output. */
void cli_json_print(const cJSON *root);

#endif
