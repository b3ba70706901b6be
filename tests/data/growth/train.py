import sys, torch
from torch import nn
from model import Model

def main (kind, last):
  model = Model ().to ("cuda")
  optimizer = torch.optim.AdamW (model.parameters ())
  kept, total = [], 0
  for step in range (40):
    if step == last:
      return
    x = torch.zeros (2048, 1024).to ("cuda")
    if kind == "accumulate":
      total = total + model (x).mean () / 8
      if step % 8 < 7:
        continue
      loss, total = total, 0
    else:
      out = model (x)
      loss = out.mean ()
      if kind == "outputs":
        kept.append (out)
    loss.backward ()
    optimizer.step ()
    optimizer.zero_grad ()

torch.cuda.memory._record_memory_history (stacks="python")
try:
  main (sys.argv[1], int (sys.argv[2]))
except torch.OutOfMemoryError:
  pass
torch.cuda.memory._dump_snapshot (sys.argv[3])
