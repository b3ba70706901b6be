/* device-contract.h - what device.h promises of every device with memory, checked on any: the
 * simulated one, the CUDA device on the stand-in driver, a GPU.
 *
 * @spec: a device that takes the setting `capacity`, with or without settings, as in "sim" or
 * "cuda:0:mode=vmm"; at least 32 MiB must be free.
 */
#pragma once

#include "devices/device.h"

/* A device of @spec with @more settings; the test fails if there is none. */
GememDevice *test_device_new (const char *spec, const char *more);

/* What is held, to the byte; what is refused changes nothing; addresses do not overlap; info. */
void test_device_capacity (const char *spec);
/* Pages live while anybody needs them; ranges; several mappings of one page, and unmapping several
 * at once. */
void test_device_pages (const char *spec);
/* Streams and events: what is waited for is complete, and stays so; work on freed streams;
 * memset. */
void test_device_streams (const char *spec);
/* Memory, ranges, pages, mappings and events that are still there when the device ends. */
void test_device_leave_all (const char *spec);

/* Mistakes of a caller: with internal checks the end of the program, which says what; without them
 * counted, and without effect. */
typedef struct
{
  const char *name;    /* "free-unknown" */
  const char *message; /* in what the program says */
} TestMistake;
extern const TestMistake test_device_mistakes[];
extern const guint test_device_n_mistakes;
/* Makes mistake @i on a device of @spec; does not return with internal checks. */
void test_device_mistake (const char *spec, guint i);
