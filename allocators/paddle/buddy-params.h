/* buddy-params.h - the flags of PaddlePaddle's buddy allocator (buddy.c) as a parameter table, and
 * the check that the chosen flags are compatible.
 *
 * Origin: paddle.md sections 1.1 (defaults and versions) and 2.1.
 */
#pragma once

#include "allocators/allocator.h"
#include "allocators/paddle/chunk-size.h"
#include "base/rules.h"

typedef enum
{
  GEMEM_PADDLE_PLACE_GPU,
  GEMEM_PADDLE_PLACE_CPU,
  GEMEM_PADDLE_PLACE_PINNED,
} GememPaddlePlace;

typedef struct
{
  GememPaddleChunkRule chunk;
  int place, platform;
  guint64 total, available;
  gboolean free_idle_memory;
  guint64 memory_limit;
  guint64 retry_time;
  double cpu_fraction;
  guint64 cpu_initial;
  double pinned_fraction;
  gboolean use_pinned_memory;
} GememPaddleBuddyParams;

/* "default" of a size in MiB: the flag is not set.  A 0 that was given decides alike, but the
 * manual refuses it. */
#define GEMEM_PADDLE_UNSET G_MAXUINT64
#define GEMEM_PADDLE_UNSET_TEXT "default=18446744073709551615"

static inline gboolean
gemem_paddle_size_is_set (guint64 size)
{
  return size != 0 && size != GEMEM_PADDLE_UNSET;
}

enum
{
  GEMEM_PADDLE_LINUX,
  GEMEM_PADDLE_WINDOWS,
};

#define GEMEM_PADDLE_PLATFORM_ROW(Type, field) \
  { \
    .name = "platform", .type = GEMEM_PARAM_CHOICE, .default_text = "linux", \
    .choices = "linux|windows", .offset = G_STRUCT_OFFSET (Type, field), \
    .help = "Platform whose default fraction_of_gpu_memory_to_use has: 0.92, on Windows 0.5." \
  }

#define GEMEM_PADDLE_RULES_ROW(Type, field) \
  GEMEM_RULES_ROW (Type, field, \
                   "every chunk is fraction_of_gpu_memory_to_use of the device's total, a 0 that " \
                   "is given is refused; on the host a chunk is initial_cpu_memory_in_mb or the " \
                   "whole fraction of the memory; free_idle_memory works in every version.")

/* The rows for a device's buddy; a table that uses them fills a struct that begins with a
 * GememPaddleBuddyParams. */
#define GEMEM_PADDLE_BUDDY_SIZE_ROWS \
  GEMEM_PADDLE_RULES_ROW (GememPaddleBuddyParams, chunk.rules), \
      GEMEM_PADDLE_PLATFORM_ROW (GememPaddleBuddyParams, platform), \
      { .name = "total", \
        .type = GEMEM_PARAM_SIZE, \
        .flags = GEMEM_PARAM_MEMORY, \
        .default_text = "0", \
        .special = "device=0", \
        .offset = G_STRUCT_OFFSET (GememPaddleBuddyParams, total), \
        .help = "Memory that the device reports as total, and its limit; 0 asks the device (cpu, " \
                "pinned: the physical memory)." }, \
      { .name = "available", \
        .type = GEMEM_PARAM_SIZE, \
        .flags = GEMEM_PARAM_MEMORY, \
        .default_text = "0", \
        .special = "device=0", \
        .offset = G_STRUCT_OFFSET (GememPaddleBuddyParams, available), \
        .help = "Memory available while nothing is held; shrinks by every byte held; 0 asks the " \
                "device at each moment." }, \
      { .name = "fraction_of_gpu_memory_to_use", \
        .type = GEMEM_PARAM_DOUBLE, \
        .default_text = GEMEM_PADDLE_FRACTION_DEFAULT, \
        .sweep = "0.05|0.1|0.25|0.5|0.8|0.92|1", \
        .min = "0", \
        .max = "1", \
        .special = "default=" GEMEM_PADDLE_FRACTION_DEFAULT, \
        .aliases = "fraction|FLAGS_fraction_of_gpu_memory_to_use", \
        .offset = G_STRUCT_OFFSET (GememPaddleBuddyParams, chunk.fraction), \
        .help = "Part of the memory (less 5 %) that one chunk takes where no size is set: of the " \
                "total until 1.5, of what is available since 1.6; as documented of the total, " \
                "and above 0; the default is (double)0.92f, on Windows 0.5.  Default in 1.2-3.x: " \
                "0.92." }, \
      { .name = "initial_gpu_memory_in_mb", \
        .type = GEMEM_PARAM_SIZE, \
        .default_text = "default", \
        .special = GEMEM_PADDLE_UNSET_TEXT, \
        .sweep = "default|256|512|1024|2048|4096|8192", \
        .unit = "MiB", \
        .aliases = "initial_mb|FLAGS_initial_gpu_memory_in_mb", \
        .offset = G_STRUCT_OFFSET (GememPaddleBuddyParams, chunk.initial), \
        .help = "Size of the first chunk; 0: by fraction (as documented above 0).  Default in " \
                "1.4-3.x: 0." }, \
  { \
    .name = "reallocate_gpu_memory_in_mb", .type = GEMEM_PARAM_SIZE, .default_text = "default", \
    .special = GEMEM_PADDLE_UNSET_TEXT, .sweep = "default|64|128|256|512|1024|2048", \
    .unit = "MiB", .aliases = "realloc_mb|FLAGS_reallocate_gpu_memory_in_mb", \
    .offset = G_STRUCT_OFFSET (GememPaddleBuddyParams, chunk.reallocate), \
    .help = "Size of every further chunk; 0: by fraction, since 1.6 of what is then available " \
            "(as documented above 0).  Default in 1.4-3.x: 0." \
  }

#define GEMEM_PADDLE_BUDDY_LIMIT_ROWS \
  { \
    .name = "gpu_memory_limit_mb", \
    .type = GEMEM_PARAM_SIZE, \
    .default_text = "0", \
    .unit = "MiB", \
    .aliases = "FLAGS_gpu_memory_limit_mb", \
    .offset = G_STRUCT_OFFSET (GememPaddleBuddyParams, memory_limit), \
    .help = "Most memory this process may hold; 0: no limit (since 1.8).  Default in 1.8-3.x: 0." \
  }, \
  { \
    .name = "gpu_allocator_retry_time", .type = GEMEM_PARAM_TIME, .default_text = "default", \
    .unit = "ms", .aliases = "FLAGS_gpu_allocator_retry_time", \
    .special = "default=18446744073709551615", \
    .offset = G_STRUCT_OFFSET (GememPaddleBuddyParams, retry_time), \
    .help = "Virtual time to wait before the one repetition of a refused device call; 0: none; " \
            "it wraps the buddy of the GPU since 1.6.  " \
            "Default in 1.6-3.x: 10000." \
  }

extern const GememParam gemem_paddle_buddy_params[];

/* Puts the default fraction of @platform and 0 for sizes that are not set into @rule.  Documented
 * rules refuse a 0 that was given (GEMEM_ERROR_USAGE); @who: "paddle-buddy", for the message. */
gboolean gemem_paddle_chunk_rule_resolve (GememPaddleChunkRule *rule, int platform, const char *who,
                                          GError **error);

/* Refuses (GEMEM_ERROR_USAGE) settings that the version or the place does not know and settings
 * that others override; fills in the defaults of the version. */
gboolean gemem_paddle_buddy_params_resolve (GememPaddleBuddyParams *params, GError **error);
