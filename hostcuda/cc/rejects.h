/* Rejects features of a GPU that the host device does not have. */
#ifndef HCC_REJECTS_H
#define HCC_REJECTS_H

#include "scopes.h"

/* Returns false, with a message, if token i begins an unsupported construct. */
bool hcc_check_supported(const struct hcc_source *source, const struct hcc_scopes *scopes, size_t i);

#endif
