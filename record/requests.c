/* requests.c - takes down what an allocator inside of the program says of its own requests, beside
 * the device calls that it makes for them.
 *
 * A pool serves most requests without a call that the recorder sees.  Where its library tells
 * Python of every request (dry/python/pools.py), that calls these functions, by ctypes:
 *
 *   gemem_record_begin ()         the thread serves a request; calls up to its end have its stack
 *   gemem_record_request ()       it has been served, or refused
 *   gemem_record_release ()       a block is about to be free again
 *
 * Invariants: those of recorder.h.  A free is numbered before the allocator knows of it, and a
 * request after it was served, so a free precedes the request that reuses its address, on any
 * thread.  What is said while nothing is recorded is dropped.  The driver is asked only after a
 * call of the program succeeded, and for what is free where a request was refused.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "record/shapes.h"

#define TEXT_STACKS (UINT32_C (1) << 31) /* numbers from here on; those of stacks.c are below */

static struct
{
  _Atomic (uint32_t) stacks;
  char allocator[256], settings[JOURNAL_MAX_TEXT], library[64];
} above;

EXPORT void gemem_record_library (const char *allocator, const char *settings, const char *library);
EXPORT uint32_t gemem_record_stack (const char *text);
EXPORT void gemem_record_begin (uint32_t stack);
EXPORT void gemem_record_request (int device, uint64_t address, uint64_t size, uint64_t block,
                                  uint64_t stream);
EXPORT void gemem_record_release (int device, uint64_t address);

static void
copy_text (char *to, size_t size, const char *text)
{
  size_t length = strnlen (text, size - 1);
  memcpy (to, text, length);
  to[length] = '\0';
}

/* The journal of a process names the allocator from its first request on. */
static void
name_allocator (JournalHeader *header)
{
  memcpy (header->allocator, above.allocator, sizeof header->allocator);
  memcpy (header->settings, above.settings, sizeof header->settings);
  memcpy (header->library, above.library, sizeof header->library);
}

/* Names gemem's allocator that decides as the program's does, its settings, and "LIBRARY VERSION".
 * Called again with what is known only later. */
void
gemem_record_library (const char *allocator, const char *settings, const char *library)
{
  int saved = errno;

  copy_text (above.allocator, sizeof above.allocator, allocator);
  copy_text (above.settings, sizeof above.settings, settings);
  copy_text (above.library, sizeof above.library, library);
  if (gemem_recorder_header () != NULL && gemem_recorder_enter ()) /* it opens no journal */
    {
      if (gemem_recorder_header ()->library[0] != '\0')
        name_allocator (gemem_recorder_header ());
      gemem_recorder_leave (saved);
    }
}

/* The number of the stack "FUNCTION (FILE:LINE) < ...", innermost first, which is valid in this
 * process; 0: it cannot be stored. */
uint32_t
gemem_record_stack (const char *text)
{
  uint32_t number = 0;
  int saved = errno;

  if (gemem_recorder_enter ())
    {
      number = TEXT_STACKS | (atomic_fetch_add (&above.stacks, 1) + 1);
      JournalRecord record = { .call = JOURNAL_STRING, .p = number, .q = strlen (text) };
      if (record.q > JOURNAL_MAX_TEXT
          || !gemem_recorder_add_data (record, text, (uint32_t) record.q))
        number = 0;
      gemem_recorder_leave (saved);
    }
  return number;
}

/* @stack: of gemem_record_stack(). */
void
gemem_record_begin (uint32_t stack)
{
  JournalHeader *header = stack != 0 ? gemem_recorder_header () : NULL;

  if (header != NULL && header->library[0] == '\0')
    name_allocator (header);
  gemem_recorder_thread.serves = true;
  gemem_recorder_thread.above = stack;
}

/* Ends the request of @size bytes that began; 0: there was none after all.  @address 0: it was
 * refused, else the block has @block bytes.  @stream: its handle. */
void
gemem_record_request (int device, uint64_t address, uint64_t size, uint64_t block, uint64_t stream)
{
  int saved = errno;

  if (size == 0 || !gemem_recorder_enter ())
    {
      gemem_recorder_thread.serves = false;
      return;
    }
  Place place = gemem_recorder_place (); /* also assigns the number of the thread */
  JournalRecord record = { .call = JOURNAL_REQUEST,
                           .p = address,
                           .q = size,
                           .r = gemem_recorder_stream_number ((Handle) (uintptr_t) stream, false),
                           .s = address != 0 ? block : gemem_recorder_free_bytes (),
                           .device = address != 0 ? gemem_recorder_device (device)
                                                  : (uint16_t) device };
  errno = saved;
  gemem_recorder_leave_with (0, &place, record);
  gemem_recorder_thread.serves = false;
}

void
gemem_record_release (int device, uint64_t address)
{
  if (!gemem_recorder_enter ())
    return;
  Place place = gemem_recorder_place ();
  JournalRecord record = { .call = JOURNAL_REQUEST_END, .p = address, .device = (uint16_t) device };
  gemem_recorder_leave_with (0, &place, record);
}
