/* objects.h - functions that many libraries have in the same form: an object is made and
 * released, its stream is set and asked for, the library's version (library.h).
 */
#pragma once

#include "dry/libraries/library.h"

#define SUCCESS 0
#define STREAM 1 /* attribute of a handle */

#define NEW_OBJECT(name, status) \
  DRY_FUNCTION (int, name, void **object) \
  { \
    INVALID_VALUE_UNLESS (object != NULL, status); \
    *object = gemem_library_object_new (); \
    return SUCCESS; \
  }
#define FREE_OBJECT(name) \
  DRY_FUNCTION (int, name, void *object) \
  { \
    gemem_library_object_free (object); \
    return SUCCESS; \
  }
#define STREAM_OF(set, get) \
  DRY_FUNCTION (int, set, void *handle, void *stream) \
  { \
    gemem_library_keep (handle, STREAM, &stream, sizeof stream); \
    return SUCCESS; \
  } \
  DRY_FUNCTION (int, get, void *handle, void **stream) \
  { \
    if (stream != NULL) \
      *stream = NULL; \
    gemem_library_kept (handle, STREAM, stream, sizeof *stream); \
    return SUCCESS; \
  }
#define PROPERTY_OF(name, library, status) \
  DRY_FUNCTION (int, name, int type, int *value) \
  { \
    INVALID_VALUE_UNLESS (value != NULL, status); \
    *value = gemem_library_version (library, type); \
    return SUCCESS; \
  }

/* major * 1000 + minor * 100 + patch */
static inline int
short_version (const char *library)
{
  return gemem_library_version (library, 0) * 1000 + gemem_library_version (library, 1) * 100
         + gemem_library_version (library, 2);
}
