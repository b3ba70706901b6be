import gemem_rmm, rmm
with gemem_rmm.record("no/folder/six.gmt"):
    raise MemoryError("the program's own")
