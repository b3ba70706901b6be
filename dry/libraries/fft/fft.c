/* fft.c - cuFFT where it is not installed: plans (dry/libraries/objects.h). */
#include "config.h"

#include "dry/libraries/objects.h"
#include "dry/libraries/sizes.h"

#define FFT_INVALID_VALUE 4

/* ---- plans: a plan is a number */

static int
new_plan (int *plan)
{
  static gint last;

  INVALID_VALUE_UNLESS (plan != NULL, FFT_INVALID_VALUE);
  *plan = g_atomic_int_add (&last, 1) + 1;
  return SUCCESS;
}

/* Plans of these functions allocate what they need themselves. */
static int
new_whole_plan (int *plan, const char *function)
{
  gemem_library_unknown_size (function, 0);
  return new_plan (plan);
}

DRY_FUNCTION (int, cufftCreate, int *plan)
{
  return new_plan (plan);
}

DRY_FUNCTION (int, cufftPlan1d, int *plan, int nx, int type, int batch)
{
  return new_whole_plan (plan, "cufftPlan1d");
}

DRY_FUNCTION (int, cufftPlan2d, int *plan, int nx, int ny, int type)
{
  return new_whole_plan (plan, "cufftPlan2d");
}

DRY_FUNCTION (int, cufftPlan3d, int *plan, int nx, int ny, int nz, int type)
{
  return new_whole_plan (plan, "cufftPlan3d");
}

DRY_FUNCTION (int, cufftPlanMany, int *plan, int rank, int *n, int *embedded_in, int stride_in,
              int distance_in, int *embedded_out, int stride_out, int distance_out, int type,
              int batch)
{
  return new_whole_plan (plan, "cufftPlanMany");
}

DRY_FUNCTION (int, cufftGetVersion, int *version)
{
  INVALID_VALUE_UNLESS (version != NULL, FFT_INVALID_VALUE);
  *version = short_version ("cufft");
  return SUCCESS;
}

PROPERTY_OF (cufftGetProperty, "cufft", FFT_INVALID_VALUE)

/* ---- workspaces */

#include "dry/libraries/fft/sizes.def"
