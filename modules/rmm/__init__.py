from . import mr
