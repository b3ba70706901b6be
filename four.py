import gemem_rmm, rmm
with gemem_rmm.record("four.gmt"):
    rmm.mr.free(0, 0x500, 8)  # of before
    rmm.mr.allocate(0, 0x1000, 4096)
    rmm.mr.free(0, 0x1000, 4096)
