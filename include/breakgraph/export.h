/* Macros of every public header: visibility of symbols, C linkage in C++, and casts that compile in C and C++. */
#ifndef BREAKGRAPH_EXPORT_H
#define BREAKGRAPH_EXPORT_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BG_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define BG_BEGIN_C_           extern "C" {
#define BG_END_C_             }
#define BG_CAST_(type, value) static_cast<type>(value)
#else
#define BG_BEGIN_C_
#define BG_END_C_
#define BG_CAST_(type, value) ((type)(value))
#endif

#endif
