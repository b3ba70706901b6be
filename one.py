import gemem_torch, torch
gemem_torch.snapshot("one.gmt")
gemem_torch.snapshot("one.pickle")
with gemem_torch.record("two.txt"):
    assert torch.cuda.memory.calls == ["all"]
assert torch.cuda.memory.calls == ["all", None]
torch.cuda.memory.calls[:] = ["older"]
with gemem_torch.record("older.gmt"):
    pass
assert torch.cuda.memory.calls == ["older", "all", None]
try:
    with gemem_torch.record("three.gmt"):
        raise MemoryError("the program's own")
except MemoryError:
    pass
