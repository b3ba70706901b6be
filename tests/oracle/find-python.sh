#!/bin/sh
# find-python.sh VERSION - prints a Python of that version, for which a wheel's modules are; exit status 77 and one line on stderr: there
# is none.  Called by build.sh of systems whose driver is a process of Python.
for python in "python$1" python3; do
  if "$python" -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != sys.argv[1])' "$1" 2>/dev/null; then
    echo "$python"
    exit 0
  fi
done
echo "there is no Python $1, for which the wheel is" >&2
exit 77
