/* What the driver says of pointers: buffer ids, ranges, attributes, registered host memory. */
#include "tests/support/cuda_support.h"

#include "tests/support/kernels/graph_kernels.h"

DRIVER_ENTRY(pointer_attribute, cuPointerGetAttribute, 4000);
DRIVER_ENTRY(pointer_attributes, cuPointerGetAttributes, 7000);
DRIVER_ENTRY(address_range, cuMemGetAddressRange, 3020);
SHARED_STREAM(stream, cudaStreamNonBlocking);

static CUresult try_id(const void *pointer, unsigned long long *id)
{
    return pointer_attribute(id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address_of(pointer));
}

static unsigned long long id_of(const void *pointer)
{
    unsigned long long id = 0;
    CU_OK(try_id(pointer, &id));
    assert_true(id != 0);
    return id;
}

TEST(test_buffer_ids)
{
    char *first = device_memory(1000), *ordered = NULL, *pinned = NULL, pageable = 0;
    DEVICE_MEMORY(char, second, 1000);
    unsigned long long id = id_of(first), none = 0;
    assert_true(id_of(first + 999) == id);
    assert_true(id_of(second) != id);
    OK(cudaMallocAsync((void **)&ordered, 1000, stream));
    assert_true(id_of(ordered) != id);
    OK(cudaFreeAsync(ordered, stream));
    OK(cudaMallocHost((void **)&pinned, 1000));
    assert_true(id_of(pinned + 5) == id_of(pinned));
    CU_INVALID(try_id(&pageable, &none));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(first));
    CU_INVALID(try_id(first, &none));
    DEVICE_MEMORY(char, again, 1000);
    assert_true(id_of(again) != id);
    OK(cudaStreamSynchronize(stream));
}

TEST(test_ranges)
{
    char on_stack = 0;
    DEVICE_MEMORY(char, memory, 4096);
    CUdeviceptr inside = address_of(memory + 1234), base = 0;
    size_t bytes = 0;
    void *start = NULL;
    unsigned type = 0;
    int device = -1;
    CU_OK(address_range(&base, &bytes, inside));
    assert_true(base == address_of(memory));
    assert_true(bytes >= 4096);
    CU_OK(address_range(&base, NULL, inside));
    CU_OK(pointer_attribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside));
    assert_ptr_equal(start, memory);
    CU_OK(pointer_attribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside));
    assert_true(bytes >= 4096);
    CU_OK(pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    CU_OK(pointer_attribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inside));
    assert_int_equal(device, 0);
    CU_INVALID(pointer_attribute(&start, CU_POINTER_ATTRIBUTE_HOST_POINTER, inside));
    CU_EXPECT(address_range(&base, &bytes, address_of(&on_stack)), CUDA_ERROR_NOT_FOUND);
    CU_INVALID(pointer_attribute(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside));
}

TEST(test_many_attributes)
{
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER};
    unsigned type = 99;
    unsigned long long id = 99;
    void *start = &type, *memory = device_memory(64), *pinned = NULL, *on_host = NULL;
    size_t bytes = 99;
    void *data[] = {&type, &id, &start, &bytes, &on_host};
    int pageable = 0;
    CU_OK(pointer_attributes(5, names, data, address_of(&pageable)));
    assert_int_equal(type, 0);
    assert_true(id == 0);
    assert_ptr_equal(start, &type); /* of a range that there is not, nothing is written */
    assert_int_equal(bytes, 99);
    assert_ptr_equal(on_host, &pageable);
    CU_OK(pointer_attributes(5, names, data, address_of(memory)));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    assert_null(on_host);
    OK(cudaFree(memory));
    OK(cudaMallocHost(&pinned, 64));
    CU_OK(pointer_attributes(5, names, data, address_of(pinned)));
    assert_int_equal(type, CU_MEMORYTYPE_HOST);
    assert_true(id == id_of(pinned));
    assert_ptr_equal(start, pinned);
    assert_ptr_equal(on_host, pinned);
    OK(cudaFreeHost(pinned));
}

/* ---- host memory that is registered ----------------------------------------------------------------------------- */

static _Alignas(4096) char buffer[8192];

static enum cudaMemoryType memory_type(const void *pointer)
{
    struct cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, pointer));
    return attributes.type;
}

TEST(test_registered_memory)
{
    void *device = NULL;
    assert_int_equal(memory_type(buffer), cudaMemoryTypeUnregistered);
    OK(cudaHostRegister(buffer, 4096, cudaHostRegisterDefault));
    assert_int_equal(memory_type(buffer + 4095), cudaMemoryTypeHost);
    unsigned long long id = id_of(buffer);
    OK(cudaHostGetDevicePointer(&device, buffer, 0));
    OK(gk_add(device, 11, stream)); /* the device reads and writes it */
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(*(int *)(void *)buffer, 11);
    EXPECT_CODE(cudaHostRegister(buffer, 4096, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
    EXPECT_INVALID(cudaFreeHost(buffer));
    EXPECT_INVALID(cudaHostUnregister(buffer + 16)); /* not where it begins */
    OK(cudaHostUnregister(buffer));
    assert_int_equal(memory_type(buffer), cudaMemoryTypeUnregistered);
    EXPECT_CODE(cudaHostUnregister(buffer), cudaErrorHostMemoryNotRegistered);
    OK(cudaHostRegister(buffer, 4096, cudaHostRegisterDefault));
    assert_true(id_of(buffer) != id);
    OK(cudaHostUnregister(buffer));
    EXPECT_INVALID(cudaHostRegister(NULL, 4096, cudaHostRegisterDefault));
    EXPECT_INVALID(cudaHostRegister(buffer, 0, cudaHostRegisterDefault));
}

/* What CUDA allocated can be neither registered nor unregistered. */
TEST(test_pinned_memory_is_not_registered)
{
    void *pinned = NULL;
    OK(cudaMallocHost(&pinned, 8192));
    EXPECT_INVALID(cudaHostRegister(pinned, 4096, cudaHostRegisterDefault));
    EXPECT_INVALID(cudaHostUnregister(pinned));
    OK(cudaFreeHost(pinned));
}

TEST_GROUP(make_shared, drop_shared);
