"""said.py - what a program says of its memory itself: the errors that it logs or ends by, and what its log tells of tokens.

    watch_logging (logging, note)       once the program has imported logging
    watch_printed (traceback, note)     once it has imported traceback, which prints what ends a process of multiprocessing
    tell_error (error, note)            an error that ends this process

A server that takes what is left of the memory for its cache (vLLM, SGLang) refuses to start by an error of its own, before any request is refused; and only its log says
how many tokens that cache holds.  The error is one of a process that the server starts: that process logs it, and the server itself ends with another one.  So what is
logged as an error, what is printed or ends a process, and lines about tokens become notes (`said`).  What they mean, dry/verdict/said.c decides by the list of messages.

Nothing of the program changes: records go on to its handlers, errors to who catches them.  At most _MOST notes of a process, each once and at most _LONG characters.
"""
import os
import re

_MOST, _LONG = 200, 2000
_ABOUT = re.compile(r"\btokens\b|_tokens=")  # what servers say of their cache
_told = set()


def _tell(text, note):
    text = " ".join(text.split())
    if len(text) > _LONG:  # what it is stands at the beginning, its cause at the end
        text = text[: _LONG // 4] + " ... " + text[-_LONG * 3 // 4 :]
    if not text or text in _told or len(_told) >= _MOST:
        return
    _told.add(text)
    note("said", "%d %s" % (os.getpid(), text))


def tell_error(error, note):
    """Notes ERROR and what it came from, the first cause last."""
    seen = set()
    while isinstance(error, BaseException) and id(error) not in seen:
        seen.add(id(error))
        _tell("%s: %s" % (type(error).__name__, error), note)
        error = error.__cause__ or error.__context__


def watch_logging(logging, note):
    pass_on = logging.Logger.callHandlers

    def callHandlers(self, record):
        try:
            if record.levelno >= logging.ERROR:
                _tell(record.getMessage(), note)
                tell_error(record.exc_info and record.exc_info[1], note)
            elif _ABOUT.search(str(record.msg)):
                _tell(record.getMessage(), note)
        except Exception:
            pass  # a record that cannot be formatted is the program's matter
        return pass_on(self, record)

    logging.Logger.callHandlers = callHandlers


def watch_printed(traceback, note):
    print_it = traceback.print_exception

    def print_exception(*arguments, **options):
        error = next((one for one in list(arguments) + list(options.values()) if isinstance(one, Exception)), None)
        tell_error(error, note)
        return print_it(*arguments, **options)

    traceback.print_exception = print_exception
