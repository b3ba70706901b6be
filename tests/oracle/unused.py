"""unused.py - modules that a real system imports and that nothing here uses."""
import sys
import types


class Unused(types.ModuleType):
    """Has every attribute, of the same kind."""

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return Unused(name)


def stand_for(*names):
    sys.modules.update({name: Unused(name) for name in names})
