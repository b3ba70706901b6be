/* mode.h - what differs between the strict stand-in of tests and a dry run: one table for each, chosen at the first call.
 *
 * The strict stand-in carries out what is asked, to the byte and in time, and refuses the rest. A dry run takes every program as it
 * is, has no bytes behind device memory, and computes nothing.
 */
#pragma once

#include "dry/driver/kernels.h"
#include "dry/driver/streams.h"
#include "dry/protocol/protocol.h"

struct _DriverMode
{
  gboolean
      as_gpu; /* devices are those of gemem_dry_gpu() that $CUDA_VISIBLE_DEVICES names; else gemem's own */
  gboolean
      backed; /* bytes stand behind device memory; else it reads as zero, but for what is remembered (remembered.h) */
  gboolean
      at_once; /* work is done when it is put on a stream; else when the clock reaches its time */
  gboolean
      lenient; /* what cannot be carried out succeeds without effect; else CUDA_ERROR_NOT_SUPPORTED */
  void (*note) (GememDryNote word, const char *text); /* as gemem_dry_note() */
  void (*initialised) (void); /* cuInit() is about to succeed, for the first time */
  /* An image is loaded: *@kept stands for it from now on, or is NULL. */
  CUresult (*load) (const void *image, gconstpointer *kept);
  /* Sets what @function, which has its name, is in the image @kept; FALSE: there is none such. */
  gboolean (*find) (gconstpointer kept, DriverFunction *function);
  /* @function is launched on @stream, as @what says and may be. */
  CUresult (*launch) (DriverStream *stream, const DriverFunction *function,
                      const CUDA_KERNEL_NODE_PARAMS *what);
};

extern const DriverMode gemem_driver_strict, gemem_driver_dry;

/* In a call: it returns where the mode does not take what it cannot carry out. */
#define LENIENT_ONLY() \
  if (!gemem_driver.mode->lenient) \
  return CUDA_ERROR_NOT_SUPPORTED
