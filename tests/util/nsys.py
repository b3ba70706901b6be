#!/usr/bin/env python3
"""nsys.py OUT KIND - writes an export of Nsight Systems by the schema that NVIDIA documents; nsys itself was not at hand.

KIND: plain (cudaMalloc, host memory, two processes), pools (cudaMallocAsync), waits (the same, and the host waits), bad-wait, order (and the work of streams, their events), bad-work, host (host memory alone), old (without the columns that
came later), none (nothing of memory was recorded), foreign (another program's), view, view-waits, virtual, bad-size, bad-text, bad-column, long (texts for numbers, and a
long name).
"""
import os, sqlite3, sys

M = 1 << 20
NEW = "streamId INTEGER, localMemoryPoolAddress INTEGER, localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER, importedMemoryPoolAddress INTEGER, importedMemoryPoolProcessId INTEGER"
OLD = "start INTEGER NOT NULL, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, address INTEGER, pc INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER, name TEXT, correlationId INTEGER"


def write(path, kind, page=4096):
    if os.path.exists(path):
        os.remove(path)
    base = sqlite3.connect(path)
    base.execute("PRAGMA page_size = %d" % page)
    if kind == "foreign":
        base.execute("CREATE TABLE results (a INTEGER)")
        return base.commit()
    base.execute("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)")
    base.execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.14.1')")
    if kind == "none":
        return base.commit()
    base.execute("CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, totalMemory INTEGER)")
    base.executemany("INSERT INTO TARGET_INFO_GPU VALUES (?, 'NVIDIA H100', ?)", [(0, 80 << 30), (1, 80 << 30)])
    table = "CUDA_GPU_MEMORY_USAGE_EVENTS"
    if kind == "view":
        base.execute("CREATE VIEW %s AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start FROM n" % table)
        return base.commit()
    if kind == "virtual":
        base.execute("CREATE VIRTUAL TABLE %s USING fts5 (start, address, bytes, memKind, memoryOperationType)" % table)
        return base.commit()
    base.execute("CREATE TABLE %s (%s)" % (table, OLD.replace("memKind", "kind") if kind == "bad-column" else OLD if kind == "old" else OLD + ", " + NEW))
    now = 10**18

    def row(address, size, memory=2, free=0, process=7 << 24, device=0, stream=None, pool=None, held=None, name=None):
        nonlocal now
        now += 1000
        values = (now, process, device, 1, address, 0, size, memory, free, name, None)
        base.execute("INSERT INTO %s VALUES (%s)" % (table, ", ".join("?" * (11 if kind in ("old", "bad-column") else 18))),
                     values if kind in ("old", "bad-column") else values + (stream, pool, None, held, None, None, None))

    A, H, P = 0x302000000, 0x7F0000000000, 0x5555
    if kind != "host":
        row(A, 20 * M)
        row(A + 32 * M, 2 * M, stream=7)
        row(A + 64 * M, 3 * M, memory=4)
        row(A + 96 * M, 4096, memory=5, name="table")
        row(A, 8 * M, process=9 << 24, device=1)
        row(A, 20 * M, free=1)
        row(A, 40 * M)
        row(A + 256 * M, 1, free=1)           # allocated before
        row(A + 32 * M, 5 * M)                # its free is not there
        row(A + 512 * M, 9, memory=77)
    row(H, 16 * M, memory=1)
    row(H + 64 * M, 1 * M, memory=0)
    row(H, 16 * M, memory=1, free=1)
    if kind in ("waits", "bad-wait"):
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL, eventId INTEGER)")
    def wait(kind_of_wait, stream, device=0):
        nonlocal now
        now += 1000
        base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (?, ?, ?, 1, ?, NULL, ?, ?, NULL)", (now - 500, now, device, stream, 7 << 24, kind_of_wait))
    if kind in ("waits", "bad-wait"):
        row(A + 1024 * M, 10 * M, stream=13, pool=P, held=32 * M)
        row(A + 1024 * M, 10 * M, free=1, stream=14, pool=P, held=32 * M)
        wait(3, 13)
        wait(1, 14)                           # for an event
        wait(3, 14 if kind == "waits" else -4)
        wait(4, None)
    if kind == "pools":
        row(A + 1024 * M, 10 * M, stream=13, pool=P, held=32 * M)
        row(A + 1034 * M, 30 * M, stream=14, pool=P, held=64 * M)
        row(A + 1024 * M, 10 * M, free=1, stream=13, pool=P, held=64 * M)
        row(A + 2048 * M, 1 * M, stream=13, pool=P + 8, held=32 * M)
    if kind in ("order", "bad-work"):
        made = "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER"
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL)")
        for what in ("KERNEL", "MEMCPY", "GRAPH_TRACE"):   # MEMSET is not there
            base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_%s (%s)" % (what, made))
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL)")
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL, eventId INTEGER)")
        calls = 0

        def call(pid=7):
            nonlocal now, calls
            now += 1000
            calls += 1
            base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 0)", (now, now + 10, pid << 24 | 55, calls))
            # another process, with the same number
            base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 0)", (10**18 - 5000, now + 10, pid + 1 << 24 | 55, calls))
            return calls

        def work(what, stream, begins, ends, number):
            base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_%s VALUES (?, ?, 0, 1, ?, ?, ?)" % what, (now + begins, ends if isinstance(ends, str) else now + ends, stream, number, 7 << 24))

        def mark(stream, event):
            base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1, ?, ?, ?, ?)", (stream, call(), 7 << 24, event))

        def wait(kind_of_wait, stream, event):
            nonlocal now
            now += 1000
            base.execute("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (?, ?, 0, 1, ?, ?, ?, ?, ?)", (now, now + 1, stream, call(), 7 << 24, kind_of_wait, event))

        row(A + 1024 * M, 10 * M, stream=13, pool=P, held=32 * M)
        work("KERNEL", 13, 400, 14500, call())          # begins after its call, ends much later
        row(A + 1024 * M, 10 * M, free=1, stream=13, pool=P, held=32 * M)
        wait(2, 14, 9)                                  # for an event that was never recorded
        mark(13, 9)
        wait(2, 14, 9)
        row(A + 1034 * M, 10 * M, stream=14, pool=P, held=64 * M)
        work("MEMCPY", 14, 200, 1500, call())
        work("GRAPH_TRACE", 14, 1600, 1700 if kind == "order" else "many", None)
        now += 2000
        wait(1, 0, 9)
        wait(3, 14, None)
    if kind == "view-waits":                  # each row is a MB
        row(A + 1024 * M, 10 * M, stream=13, pool=P, held=32 * M)
        base.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_SYNCHRONIZATION AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000) SELECT i AS start, i AS end, 3 AS syncType, zeroblob (1000000) AS streamId, 0 AS deviceId FROM n")
    if kind == "long":
        row(A + 4096 * M, 5, name="x" * 500000)
        for i in range(40):
            row(A + (4097 + i) * M, 5, memory=77, pool="p" * 1000000)
    if kind == "bad-size":
        row(A + 4096 * M, -5)
    if kind == "bad-text":
        row("many", 5)
    # rows need not be in the order of time
    base.execute("UPDATE %s SET rowid = 1000000 - rowid WHERE start %% 2 = 1" % table)
    base.commit()


if __name__ == "__main__":
    write(*sys.argv[1:3])
