"""rmm_resources.py - every memory resource of RMM that holds memory of the device, with requests of many sizes."""
import rmm

device = rmm.mr.CudaMemoryResource()
resources = {
    "cuda": lambda: device,
    "managed": rmm.mr.ManagedMemoryResource,
    "async": rmm.mr.CudaAsyncMemoryResource,
    "pool": lambda: rmm.mr.PoolMemoryResource(device, initial_pool_size=1 << 26, maximum_pool_size=1 << 30),
    "arena": lambda: rmm.mr.ArenaMemoryResource(device, arena_size=1 << 28),
    "binning": lambda: rmm.mr.BinningMemoryResource(rmm.mr.PoolMemoryResource(device, initial_pool_size=1 << 26), 18, 22),
    "fixed": lambda: rmm.mr.FixedSizeMemoryResource(device, block_size=1 << 20, blocks_to_preallocate=16),
}
for name, make in resources.items():
    resource = rmm.mr.StatisticsResourceAdaptor(make())
    rmm.mr.set_current_device_resource(resource)
    blocks = [rmm.DeviceBuffer(size=min(1 << 20, 1000 * (i * i + 1))) for i in range(60)]
    del blocks[::2]
    blocks += [rmm.DeviceBuffer(size=77777 * (i % 13 + 1)) for i in range(30)]
    print(name, "peak", resource.allocation_counts.peak_bytes)
    blocks.clear()
    rmm.mr.set_current_device_resource(device)
