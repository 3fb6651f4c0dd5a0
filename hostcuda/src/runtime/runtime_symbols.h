/* Copies to and from variables of kernels, for graphs. */
#ifndef HOSTCUDA_RUNTIME_SYMBOLS_H
#define HOSTCUDA_RUNTIME_SYMBOLS_H

#include "hostcuda/src/call/driver_translation.h"
#include "hostcuda/src/op/op_kinds.h"

cudaError_t hc_op_make_copy_to_symbol(const void *symbol, const void *src, size_t count, size_t offset,
                                      enum cudaMemcpyKind kind, struct hc_op **op);
cudaError_t hc_op_make_copy_from_symbol(void *dst, const void *symbol, size_t count, size_t offset,
                                        enum cudaMemcpyKind kind, struct hc_op **op);
/* Return false if the driver has no such copy. They do not need the lock. */
bool hc_copy_to_symbol_to_driver(const void *symbol, const void *src, size_t count, size_t offset,
                                 enum cudaMemcpyKind kind, CUDA_MEMCPY3D *copy);
bool hc_copy_from_symbol_to_driver(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
                                   CUDA_MEMCPY3D *copy);

#endif
