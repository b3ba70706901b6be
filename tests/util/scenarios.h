/* scenarios.h - tests of which each runs in a process of its own, under an environment of its own: what opens
 * libgemem-dry.so finds its GPUs there, and writes its notes when the process ends.
 */
#pragma once

#include <glib.h>

typedef struct
{
  const char *name;
  void (*run) (void);
  const char *gpu, *devices; /* $GEMEM_DRY_GPU and $GEMEM_DRIVER_DEVICES; NULL: not set */
  const char
      *notes; /* lines that the notes must have, or with '!' before them must not; NULL: any */
} TestScenario;

/* Adds the test "/PREFIX/NAME" for each of @n @scenarios, which have to stay. */
void test_add_scenarios (const char *prefix, const TestScenario *scenarios, guint n);
