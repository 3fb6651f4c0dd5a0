/* Virtual memory management: reserve, create, map, grant access, use, unmap, map elsewhere. */
#include "tests/support/cuda_support.h"

#include "tests/support/kernels/graph_kernels.h"

DRIVER_ENTRY(address_reserve, cuMemAddressReserve, 10020);
DRIVER_ENTRY(address_free, cuMemAddressFree, 10020);
DRIVER_ENTRY(create, cuMemCreate, 10020);
DRIVER_ENTRY(release, cuMemRelease, 10020);
DRIVER_ENTRY(map, cuMemMap, 10020);
DRIVER_ENTRY(unmap, cuMemUnmap, 10020);
DRIVER_ENTRY(set_access, cuMemSetAccess, 10020);
DRIVER_ENTRY(get_access, cuMemGetAccess, 10020);
DRIVER_ENTRY(get_granularity, cuMemGetAllocationGranularity, 10020);
DRIVER_ENTRY(get_properties, cuMemGetAllocationPropertiesFromHandle, 10020);
DRIVER_ENTRY(retain, cuMemRetainAllocationHandle, 11000);
DRIVER_ENTRY(pointer_attribute, cuPointerGetAttribute, 4000);
DRIVER_ENTRY(address_range, cuMemGetAddressRange, 3020);
SHARED_STREAM(stream, cudaStreamNonBlocking);

static const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                               .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
static size_t unit; /* the granularity */

static int setup(void **state)
{
    make_shared(state);
    CU_OK(get_granularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    return 0;
}

static CUdeviceptr reserved(size_t bytes)
{
    CUdeviceptr range = 0;
    CU_OK(address_reserve(&range, bytes, 0, 0, 0));
    assert_true(range % unit == 0);
    return range;
}

static CUmemGenericAllocationHandle created(size_t bytes)
{
    CUmemGenericAllocationHandle memory = 0;
    CU_OK(create(&memory, bytes, &properties, 0));
    return memory;
}

static void give_back(CUdeviceptr range, size_t bytes, CUdeviceptr mapped, size_t mapped_bytes,
                      CUmemGenericAllocationHandle memory)
{
    CU_OK(unmap(mapped, mapped_bytes));
    CU_OK(release(memory));
    CU_OK(address_free(range, bytes));
}

static void grant(CUdeviceptr address, size_t bytes)
{
    CUmemAccessDesc access = {.location = properties.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CU_OK(set_access(address, bytes, &access, 1));
}

static void map_and_grant(CUdeviceptr address, size_t bytes, CUmemGenericAllocationHandle memory)
{
    CU_OK(map(address, bytes, 0, memory, 0));
    grant(address, bytes);
}

static int *as_int(CUdeviceptr address)
{
    return (int *)(uintptr_t)address;
}

static unsigned long long id_at(CUdeviceptr address)
{
    unsigned long long id = 0;
    CU_OK(pointer_attribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address));
    return id;
}

TEST(test_granularity)
{
    size_t recommended = 0;
    CU_OK(get_granularity(&recommended, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    assert_true(unit >= 4096 && (unit & (unit - 1)) == 0);
    assert_true(recommended % unit == 0);
}

TEST(test_use)
{
    CUdeviceptr range = reserved(4 * unit), base = 0;
    CUmemGenericAllocationHandle memory = created(unit);
    CUmemAllocationProp got;
    size_t bytes = 0;
    map_and_grant(range + unit, unit, memory);
    OK(cudaMemset(as_int(range + unit), 0, unit));
    OK(cudaDeviceSynchronize());
    OK(gk_add(as_int(range + unit) + 3, 9, stream));
    assert_int_equal(read_int(as_int(range + unit) + 3, stream), 9);
    CU_OK(address_range(&base, &bytes, range + unit + 100));
    assert_true(base == range + unit);
    assert_true(bytes == unit);
    CU_OK(get_properties(&got, memory));
    assert_int_equal(got.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
    CU_OK(release(memory)); /* the mapping keeps it */
    assert_int_equal(read_int(as_int(range + unit) + 3, stream), 9);
    CU_OK(unmap(range + unit, unit));
    CU_OK(address_free(range, 4 * unit));
}

/* The range is the reservation, the buffer the mapping. */
TEST(test_attributes)
{
    CUdeviceptr range = reserved(2 * unit);
    CUmemGenericAllocationHandle memory = created(unit);
    void *start = NULL;
    size_t bytes = 0;
    unsigned long long id = 0;
    map_and_grant(range + unit, unit, memory);
    CU_OK(pointer_attribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, range + unit + 8));
    assert_ptr_equal(start, as_int(range));
    CU_OK(pointer_attribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, range + unit + 8));
    assert_true(bytes == 2 * unit);
    unsigned long long first = id_at(range + unit);
    assert_true(first == id_at(range + 2 * unit - 1));
    CU_OK(unmap(range + unit, unit));
    CU_INVALID(pointer_attribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, range + unit));
    CU_OK(map(range + unit, unit, 0, memory, 0));
    assert_true(id_at(range + unit) != first);
    give_back(range, 2 * unit, range + unit, unit, memory);
}

/* The contents belong to the memory, not to the address. */
TEST(test_map_elsewhere)
{
    CUdeviceptr range = reserved(2 * unit);
    CUmemGenericAllocationHandle memory = created(unit);
    map_and_grant(range, unit, memory);
    OK(cudaMemset(as_int(range), 0, unit));
    OK(gk_add(as_int(range), 77, cudaStreamLegacy));
    OK(cudaDeviceSynchronize());
    CU_OK(unmap(range, unit));
    map_and_grant(range + unit, unit, memory);
    assert_int_equal(read_int(as_int(range + unit), stream), 77);
    give_back(range, 2 * unit, range + unit, unit, memory);
}

/* A range that grows: neighbours are granted and unmapped in one call. */
TEST(test_neighbours)
{
    CUdeviceptr range = reserved(3 * unit);
    CUmemGenericAllocationHandle memories[3];
    for (size_t i = 0; i < 3; i++) {
        memories[i] = created(unit);
        CU_OK(map(range + i * unit, unit, 0, memories[i], 0));
    }
    grant(range, 3 * unit);
    OK(cudaMemset(as_int(range), 1, 3 * unit));
    assert_int_equal(read_int(as_int(range + 2 * unit - 2), stream), 0x01010101); /* across the border */
    assert_true(id_at(range) != id_at(range + unit));
    CU_OK(unmap(range, 3 * unit));
    for (size_t i = 0; i < 3; i++)
        CU_OK(release(memories[i]));
    CU_OK(address_free(range, 3 * unit));
}

TEST(test_access)
{
    CUdeviceptr range = reserved(unit);
    CUmemGenericAllocationHandle memory = created(unit);
    unsigned long long flags = 99;
    CU_OK(map(range, unit, 0, memory, 0));
    CU_OK(get_access(&flags, &properties.location, range));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    grant(range, unit);
    CU_OK(get_access(&flags, &properties.location, range));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    give_back(range, unit, range, unit, memory);
}

TEST(test_retain)
{
    CUdeviceptr range = reserved(unit);
    CUmemGenericAllocationHandle memory = created(unit), again = 0;
    CU_OK(map(range, unit, 0, memory, 0));
    CU_OK(retain(&again, as_int(range)));
    assert_true(again == memory);
    CU_OK(release(memory));
    CU_OK(unmap(range, unit));
    CU_OK(map(range, unit, 0, again, 0)); /* the second handle still holds it */
    give_back(range, unit, range, unit, again);
}

TEST(test_bad_arguments)
{
    CUdeviceptr range = reserved(2 * unit), nothing = 0;
    CUmemGenericAllocationHandle memory = created(unit), none = 0;
    CUmemAccessDesc access = {.location = properties.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CU_INVALID(address_reserve(&nothing, 0, 0, 0, 0));
    CU_INVALID(address_reserve(&nothing, unit, 3, 0, 0));
    CU_INVALID(address_reserve(&nothing, unit + 1, 0, 0, 0));
    CU_INVALID(address_reserve(&nothing, 4096, 0, 0, 0)); /* a page of the host's */
    CU_INVALID(create(&none, unit + 1, &properties, 0));
    CU_INVALID(create(&none, 0, &properties, 0));
    CU_INVALID(map(range + 1, unit, 0, memory, 0));
    CU_EXPECT(map(range, 2 * unit, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED); /* more than the memory has */
    CU_INVALID(set_access(range, unit, &access, 1));                         /* not mapped */
    CU_OK(map(range, unit, 0, memory, 0));
    CU_INVALID(map(range, unit, 0, memory, 0)); /* already is */
    CU_INVALID(address_free(range, unit));
    EXPECT_INVALID(cudaFree(as_int(range)));
    give_back(range, 2 * unit, range, unit, memory);
}

/* Memory is mapped as a whole. */
TEST(test_no_part_is_mapped)
{
    CUdeviceptr range = reserved(4 * unit);
    CUmemGenericAllocationHandle memory = created(2 * unit);
    CU_EXPECT(map(range, unit, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
    CU_EXPECT(map(range, unit, unit, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
    CU_EXPECT(map(range, 2 * unit, unit, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
    CU_EXPECT(map(range, unit + 1, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
    CU_INVALID(map(range, 0, 0, memory, 0));
    CU_OK(map(range + unit, 2 * unit, 0, memory, 0));
    CU_EXPECT(map(range, unit, 0, memory, 0), CUDA_ERROR_NOT_SUPPORTED);
    CU_INVALID(map(range, 2 * unit, 0, memory, 0)); /* the half of it is taken */
    give_back(range, 4 * unit, range + unit, 2 * unit, memory);
}

/* What is unmapped may be empty, but cuts no mapping. */
TEST(test_unmap_of_nothing)
{
    CUdeviceptr range = reserved(4 * unit);
    CUmemGenericAllocationHandle memory = created(2 * unit);
    CU_OK(unmap(range, unit));
    CU_OK(map(range + unit, 2 * unit, 0, memory, 0));
    CU_INVALID(unmap(range + unit, unit));
    CU_INVALID(unmap(range, 2 * unit));
    grant(range + unit, 2 * unit);
    OK(cudaMemset(as_int(range + unit), 1, 2 * unit)); /* it is still there */
    assert_int_equal(read_int(as_int(range + unit), stream), 0x01010101);
    CU_OK(unmap(range + unit, 2 * unit));
    give_back(range, 4 * unit, range + unit, 2 * unit, memory);
}

/* None of it disturbs a capture of this thread. */
TEST(test_in_a_capture)
{
    CUdeviceptr range = reserved(unit);
    BEGIN_CAPTURE(stream);
    CUmemGenericAllocationHandle memory = created(unit);
    map_and_grant(range, unit, memory);
    OK(gk_add(as_int(range), 1, stream));
    CAPTURED(graph, stream);
    give_back(range, unit, range, unit, memory);
}

TEST_GROUP(setup, drop_shared);
