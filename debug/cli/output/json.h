/* JSON that the command writes. */
#ifndef BG_CLI_JSON_H
#define BG_CLI_JSON_H

#include <cjson/cJSON.h>

#include "debug/cli/cli.h"

/* Indented, in UTF-8 whatever its strings hold, on standard output. */
void cli_json_print(const cJSON *root);

#endif
