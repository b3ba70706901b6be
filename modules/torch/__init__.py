from . import cuda
