import gemem_rmm, rmm
rmm.mr.devices[:] = [0, 1, 2]
with gemem_rmm.record("five.gmt"):
    rmm.mr.allocate(0, 0x1000, 4096)
    rmm.mr.allocate(2, 0x2000, 8192)
