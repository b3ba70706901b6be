"""driver.py - the process in which driver.cpp runs: torch_npu begins by asking Python for modules, of which it uses nothing here."""
import ctypes
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from unused import stand_for  # noqa: E402

stand_for('torch', 'torch.npu')
words = [word.encode() for word in sys.argv[1:]]
ctypes.PyDLL(sys.argv[1], os.RTLD_LAZY).oracle_main(len(words), (ctypes.c_char_p * (len(words) + 1))(*words))
