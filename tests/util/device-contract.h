/* device-contract.h - checks what device.h promises of every device with memory: the simulated one,
 * the CUDA device on the stand-in driver, a GPU.
 *
 * @spec: a device that takes the setting `capacity`, with or without settings, as in "sim" or
 * "cuda:0:mode=vmm"; at least 32 MiB must be free.
 */
#pragma once

#include "devices/device.h"

/* A device of @spec with @more settings; the test fails if there is none. */
GememDevice *test_device_new (const char *spec, const char *more);

/* Bytes held are exact; a refused call changes nothing; addresses do not overlap; info. */
void test_device_capacity (const char *spec);
/* Pages live until destroyed and unmapped; ranges; several mappings of one page, and one unmap
 * call over several mappings. */
void test_device_pages (const char *spec);
/* Streams and events: work that was waited for is complete and stays complete; work on freed
 * streams; memset. */
void test_device_streams (const char *spec);
/* Memory, ranges, pages, mappings and events that still exist when the device is destroyed. */
void test_device_leave_all (const char *spec);

/* Misuse by a caller: with internal checks the program aborts and its message names the mistake;
 * without them the mistake is counted and has no effect. */
typedef struct
{
  const char *name;    /* "free-unknown" */
  const char *message; /* a part of the message */
} TestMistake;
extern const TestMistake test_device_mistakes[];
extern const guint test_device_n_mistakes;
/* Makes mistake @i on a device of @spec; does not return with internal checks. */
void test_device_mistake (const char *spec, guint i);
