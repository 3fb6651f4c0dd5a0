#include "owned.h"

#include <stdlib.h>

void delete_owned_json(cJSON **json)
{
    cJSON_Delete(*json);
}

void free_owned_text(char **text)
{
    free(*text);
}
