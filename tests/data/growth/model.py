from torch import nn
from torch.nn import functional as F

class Block (nn.Module):
  def __init__ (self):
    super ().__init__ ()
    self.up, self.down = nn.Linear (1024, 2048), nn.Linear (2048, 1024)

  def forward (self, x):
    return x + self.down (F.gelu (self.up (x)))

class Model (nn.Module):
  def __init__ (self):
    super ().__init__ ()
    self.blocks = nn.ModuleList (Block () for _ in range (3))

  def forward (self, x):
    for block in self.blocks:
      x = block (x)
    return x
