/* format.h - the layout of a .gmj file, shared by the writers and the reader of journals.
 *
 * libgemem-record.so (record) writes a journal inside the recorded process, through shared
 * memory, so that every record is in the file however the process ends.  A journal holds calls, not
 * events: journal.c converts calls to events.
 *
 * Layout: blocks of 64 KiB, in the byte order of the machine.  Block 0 is the header.  Every other
 * block is an array of slots of 64 bytes: slot 0 is the header of the block, the others are
 * records.  One thread at a time fills a block; all threads number their records from one counter,
 * which defines the order of all records.  A record is valid when its `call` is not 0; `call` is
 * written last.
 *
 * Invariants: the numbers below never change their meaning; within a block `sequence` grows; no
 * record of a block precedes `first` of the block, and `first` grows with the number of the block.
 * No GLib, because libgemem-record.so does not use it.
 */
#pragma once

#include <stdint.h>

#define JOURNAL_MAGIC "\x89GMJ\r\n\x1a\n"
#define JOURNAL_VERSION 4
#define JOURNAL_TEXT_STACKS 1  /* version whose call stacks are strings; still read */
#define JOURNAL_WITH_WORK 3    /* from this version on, the recorder writes JOURNAL_WORK */
#define JOURNAL_WITH_STREAMS 4 /* from this version on, JOURNAL_STREAM_CREATE */
#define JOURNAL_BLOCK 65536u
#define JOURNAL_SLOT 64u
#define JOURNAL_SLOTS (JOURNAL_BLOCK / JOURNAL_SLOT)
#define JOURNAL_BLOCK_MAGIC 0x4b4c424au
#define JOURNAL_MAX_DEVICES 64u
#define JOURNAL_MAX_TEXT 4096u /* bytes in the slots after a record */
#define JOURNAL_MAX_FRAMES (JOURNAL_MAX_TEXT / sizeof (uint64_t))
#define JOURNAL_MAX_SIZE ((UINT64_C (1) << 60) - 1) /* of JournalRecord.q */
#define JOURNAL_HOST 0xffffu /* device of host memory, as GEMEM_DEVICE_HOST */

/* The function called; successful calls only, except ALLOC_FAILED.  p, q, r are the arguments. */
typedef enum
{
  JOURNAL_NOTHING = 0,
  JOURNAL_ALLOC = 1,         /* p address, q size */
  JOURNAL_ALLOC_ASYNC = 2,   /* p address, q size, r stream; from the device's current pool */
  JOURNAL_ALLOC_POOL = 3,    /* p address, q size, r stream, s pool */
  JOURNAL_ALLOC_MANAGED = 4, /* p address, q size */
  JOURNAL_ALLOC_HOST = 5,    /* p address, q size; device is JOURNAL_HOST */
  JOURNAL_ALLOC_FAILED = 6, /* q size, r stream, s free bytes of the device: it was out of memory */
  JOURNAL_FREE = 7,         /* p address */
  JOURNAL_FREE_ASYNC = 8,   /* p address, r stream */
  JOURNAL_CREATE = 9,       /* p handle, q size: physical memory */
  JOURNAL_RETAIN = 10,      /* p handle, q address at which it is mapped */
  JOURNAL_RELEASE = 11,     /* p handle */
  JOURNAL_MAP = 12,         /* p address, q size, r handle */
  JOURNAL_UNMAP = 13,       /* p address, q size */
  JOURNAL_POOL_CREATE =
      14, /* p pool, q the most bytes that it may hold, 0: no limit, or not known */
  JOURNAL_POOL_DESTROY = 15, /* p pool */
  JOURNAL_POOL_TRIM = 16,    /* p pool, q bytes to keep */
  JOURNAL_POOL_SET = 17,     /* p pool, the current one of the device from now on */
  /* p pool: a pool of the device; its default pool unless the program created it */
  JOURNAL_POOL_DEFAULT = 18,
  JOURNAL_STREAM_SYNC = 19,    /* r stream, q JournalSync */
  JOURNAL_STREAM_DESTROY = 20, /* r stream */
  JOURNAL_EVENT_RECORD = 21,   /* p event, r stream */
  JOURNAL_EVENT_WAIT = 22,     /* p event, r stream */
  JOURNAL_EVENT_DESTROY = 23,  /* p event */
  JOURNAL_DEVICE_SYNC = 24,
  JOURNAL_DEVICE_RESET = 25,    /* all memory of the device is freed */
  JOURNAL_CONTEXT_DESTROY = 26, /* p context: its memory is freed */
  JOURNAL_STRING = 27,     /* p number, from 1, q bytes; the text is in the slots that follow */
  JOURNAL_EVENT_SYNC = 28, /* p event: the host knows that it is complete; q as STREAM_SYNC */
  JOURNAL_ARRAY = 29,      /* p handle, q bytes of its elements, s context */
  JOURNAL_REGISTER = 30,   /* p address, q size: existing host memory is pinned */
  JOURNAL_LEFT_OUT = 31,   /* p address or handle, 0: none; q JournalLeft */
  /* the next slot holds an event of a trace (recordings of running allocators) */
  JOURNAL_EVENT = 32,
  /* p load bias, r first address, s end address of a loaded file, from now on; q bytes: its path, a
   * NUL, its build-id */
  JOURNAL_MODULE = 33,
  /* p number, from 1, q return addresses, innermost first, in the slots that follow */
  JOURNAL_STACK = 34,
  /* What an allocator above the calls says of its own requests (JournalHeader.library): p address
   * (0: it was refused), q size, r stream, s bytes of the block, of a refused one what was free
   * (0: not known) */
  JOURNAL_REQUEST = 35,
  JOURNAL_REQUEST_END = 36, /* p address: the block of a request is free again */
  /* p number of a stack, a STRING: where the main thread of Python, which is `thread`, has been
   * since the PLACE before this one, whenever a call with journal_has_place() was made */
  JOURNAL_PLACE = 37,
  /* r stream: it has got work (a kernel, a copy, a host function, a graph).  Once, until a call by
   * which work before it differs from work behind it: journal_parts_work() */
  JOURNAL_WORK = 38,
  /* p pool, q number of the attribute (CUmemPool_attribute, 1 to 4), r its value */
  JOURNAL_POOL_ATTRIBUTE = 39,
  /* r stream, q 1: it and the legacy default stream follow one another, 0: it is non-blocking */
  JOURNAL_STREAM_CREATE = 40,
  JOURNAL_CALL_COUNT
} JournalCall;

/* How the host knew that a stream was done: it waited, it asked, or a copy to the host on that stream returned. */
typedef enum
{
  JOURNAL_SYNC_WAITED = 0,
  JOURNAL_SYNC_ASKED = 1,
  JOURNAL_SYNC_COPIED = 2,
} JournalSync;

/* Attributes of pools that decide, with CUDA's numbers. */
typedef enum
{
  JOURNAL_POOL_FOLLOW = 1, /* 0 or 1, as the next two */
  JOURNAL_POOL_OPPORTUNISTIC = 2,
  JOURNAL_POOL_INTERNAL = 3,
  JOURNAL_POOL_THRESHOLD = 4, /* bytes */
} JournalAttribute;

/* Memory that is not an allocation of the program, or whose allocation is not visible. */
typedef enum
{
  JOURNAL_LEFT_GRAPH = 1,      /* memory that a graph holds while it runs */
  JOURNAL_LEFT_GRAPH_FREE = 2, /* a free of such memory by a graph */
  JOURNAL_LEFT_FOREIGN = 3,    /* memory of another process */
  JOURNAL_LEFT_ARRAY = 4,      /* an array whose size is not known */
  JOURNAL_LEFT_MAPPED = 5,     /* memory mapped to arrays piece by piece */
  JOURNAL_LEFT_COUNT
} JournalLeft;

typedef struct
{
  uint64_t sequence; /* number over all threads, from 1 */
  uint64_t time;     /* ns, CLOCK_MONOTONIC */
  uint64_t p, q, r;
  uint64_t s;      /* ALLOC: the context */
  uint32_t thread; /* from 1, in the order of their first call */
  uint32_t stack;  /* number of a stack, 0: none (version 1: of a string) */
  uint16_t device;
  uint16_t below; /* 1: made to serve a request of the allocator above, 0: not, or unknown */
  uint32_t call;  /* JournalCall */
} JournalRecord;

/* Slot 0 of a block. */
typedef struct
{
  uint64_t first; /* no record of the block has a smaller sequence */
  uint32_t magic, zero;
  uint64_t unused[6];
} JournalBlock;

typedef struct
{
  uint64_t bytes; /* total memory; 0: no such device, or unknown */
  char name[120];
} JournalDevice;

typedef struct
{
  char magic[8];
  uint32_t version, slot_size;
  uint64_t start; /* CLOCK_MONOTONIC when the journal was begun */
  uint32_t pid, parent;
  uint32_t driver;       /* cuDriverGetVersion(), 0: unknown */
  uint32_t command_size; /* bytes of `command` */
  uint64_t stacks;       /* frames of a call stack; 0: none are recorded */
  /* 1: attributes of pools were set, a pool has a limit, or one was trimmed to more than 0 */
  uint64_t attributes;
  uint64_t unused[1];
  uint64_t sequence;  /* the last number assigned; in its own cache line */
  uint64_t lost;      /* calls that could not be recorded */
  uint64_t stackless; /* calls without a stack, because there were too many different ones */
  uint64_t unused2[5];
  JournalDevice devices[JOURNAL_MAX_DEVICES];
  char command[JOURNAL_MAX_TEXT]; /* arguments, each with its NUL; may be cut off */
  /* Facts of the trace, for a recording of a running allocator; "" and 0 in other journals. */
  uint32_t flags;
  uint32_t
      places; /* 1: there are JOURNAL_PLACE, which stand behind the calls that they belong to */
  char allocator[256], settings[JOURNAL_MAX_TEXT], device[512], made_on[256];
  /* "CuPy 14.2.0": an allocator of the program recorded its own requests beside the calls; then
   * `allocator` and `settings` are its.  "": none did */
  char library[64];
} JournalHeader;

_Static_assert(sizeof (JournalRecord) == JOURNAL_SLOT, "a record is a slot");
_Static_assert(sizeof (JournalBlock) == JOURNAL_SLOT, "the header of a block is a slot");
_Static_assert(sizeof (JournalHeader) <= JOURNAL_BLOCK, "the header fits into its block");

/* Whether @call obtains memory, or was refused it: the calls that PLACEs are for. */
static inline int
journal_has_place (uint32_t call)
{
  return (call >= JOURNAL_ALLOC && call <= JOURNAL_ALLOC_FAILED) || call == JOURNAL_CREATE
         || call == JOURNAL_MAP || call == JOURNAL_ARRAY || call == JOURNAL_REGISTER;
}

/* Whether work before @call differs from work behind it, for who frees and waits in the order of
 * streams: a stream that had work before may have it anew. */
static inline int
journal_parts_work (uint32_t call)
{
  return call != JOURNAL_WORK && call != JOURNAL_REQUEST && call != JOURNAL_REQUEST_END
         && call != JOURNAL_PLACE && !journal_has_place (call);
}

/* Whether the stream of handle @stream is the default one of a thread, which follows the legacy one: these have the lower
 * bits of no pointer. */
static inline int
journal_is_per_thread (uint64_t stream)
{
  return (stream & 0xff) == 2;
}

/* Number of slots after @record that belong to it. */
static inline uint64_t
journal_slots_after (const JournalRecord *record)
{
  const uint64_t size = record->call == JOURNAL_STRING || record->call == JOURNAL_MODULE ? record->q
                        : record->call == JOURNAL_STACK ? record->q * sizeof (uint64_t)
                        : record->call == JOURNAL_EVENT ? JOURNAL_SLOT
                                                        : 0;
  return (size + JOURNAL_SLOT - 1) / JOURNAL_SLOT;
}
