#!/usr/bin/env python3
"""on-terminal.py - runs a command with standard error (and output, with --both) on a pseudo terminal, and says what a person sees.

    on-terminal.py [--both] [--columns=N] [--interrupt=SECONDS] DIRECTORY COMMAND...

Writes into DIRECTORY: `raw`, the bytes; `screen`, the lines that remain, after carriage returns and erasures; `shown`, every line that was
drawn and not kept, "SECONDS TEXT"; `status`, the exit status (128 + N for a signal), and after --interrupt the seconds it took to end.
Why python: sh has no pseudo terminals. Standard input is a pipe that stays open and empty."""
import fcntl, os, pty, select, signal, struct, subprocess, sys, termios, time


def main():
    arguments, columns, interrupt, both = sys.argv[1:], 80, None, False
    while arguments[0].startswith('--'):
        name, _, value = arguments.pop(0).partition('=')
        if name == '--columns':
            columns = int(value)
        elif name == '--interrupt':
            interrupt = float(value)
        else:
            both = True
    directory, command = arguments[0], arguments[1:]
    os.makedirs(directory, exist_ok=True)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 25, columns, 0, 0))
    environment = dict(os.environ, TERM=os.environ.get('TEST_TERM', 'xterm'))
    out = slave if both else open(os.path.join(directory, 'out'), 'wb')
    begin, sent, raw, chunks = time.monotonic(), None, b'', []
    # a shell gives its background jobs, as `make check &`, SIGINT ignored
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=slave, env=environment, start_new_session=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    os.close(slave)
    while True:
        if interrupt is not None and sent is None and time.monotonic() - begin >= interrupt:
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
        if not select.select([master], [], [], 0.02)[0]:
            continue
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        raw += data
        chunks.append((time.monotonic() - begin, data))
    status = process.wait()
    took = time.monotonic() - sent if sent is not None else 0
    lines, shown = [''], []
    for at, data in chunks:
        for i, part in enumerate(data.decode('utf-8', 'replace').replace('\r\n', '\n').split('\r')):
            if i > 0:
                lines[-1] = ''
            part = part.replace('\033[K', '')
            rows = part.split('\n')
            lines[-1] += rows[0]
            if i > 0 and len(rows) == 1 and part:
                shown.append('%.3f %s' % (at, part))
            lines += rows[1:]
    for name, text in (('screen', '\n'.join(lines)), ('shown', ''.join(line + '\n' for line in shown)),
                       ('status', '%d %.2f\n' % (status if status >= 0 else 128 - status, took))):
        with open(os.path.join(directory, name), 'w', encoding='utf-8') as file:
            file.write(text)
    with open(os.path.join(directory, 'raw'), 'wb') as file:
        file.write(raw)


main()
