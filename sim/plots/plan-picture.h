/* plan-picture.h - a plan as a picture of fixed size. */
#pragma once

#include "sim/plots/picture.h"
#include "sim/report/plan-report.h"

GememPicture *gemem_plan_picture (const GememPlanResult *result); /* gemem_picture_free() */
