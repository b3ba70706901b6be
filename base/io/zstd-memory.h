/* zstd-memory.h - zstd where the host has no memory left: the program ends, as g_malloc() ends it,
 * rather than that data which are whole are called damaged, or are written unpacked.
 */
#pragma once

#include <glib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* @context, which one of the functions ZSTD_create*() returned. */
static inline gpointer
gemem_zstd_have (gpointer context)
{
  if (context == NULL)
    g_error (G_STRLOC ": failed to allocate a context of zstd");
  return context;
}

/* @result of another function of zstd, which may be any other error. */
static inline gsize
gemem_zstd_done (gsize result)
{
  if (ZSTD_getErrorCode (result) == ZSTD_error_memory_allocation)
    g_error (G_STRLOC ": failed to allocate what zstd needs");
  return result;
}
