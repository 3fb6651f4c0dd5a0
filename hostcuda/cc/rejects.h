/* What the host device does not have, and a GPU has. */
#ifndef HCC_REJECTS_H
#define HCC_REJECTS_H

#include "scopes.h"

/* Returns false, with a message, if token i begins something that cannot be compiled. */
bool hcc_accepts(const struct hcc_source *source, const struct hcc_scopes *scopes, size_t i);

#endif
