/* page-params.h - the settings of allocators that use a pool of physical pages directly, and what
 * they say of it.
 */
#pragma once

#include "allocators/allocator.h"
#include "allocators/ge/pages.h"

typedef struct
{
  int page_size; /* GE_PAGE_SIZE_* */
  int option;    /* Ge1gOption */
} GePageParams;

enum
{
  GE_PAGE_SIZE_2M,
  GE_PAGE_SIZE_8M
};

/* Rows for a class whose parameters are a @Type with a GePageParams as @field. */
#define GE_PAGE_SIZE_ROW(Type, field) \
  { \
    .name = "page_size", .type = GEMEM_PARAM_CHOICE, .default_text = "2MiB", \
    .choices = "2MiB|8MiB", .offset = G_STRUCT_OFFSET (Type, field.page_size), \
    .help = "Physical pages: 2 MiB, or 8 MiB as under policies 3 and 4." \
  }

#define GE_PAGE_PARAM_ROWS(Type, field) \
  GE_PAGE_SIZE_ROW (Type, field), \
  { \
    .name = "variable_use_1g_huge_page", .type = GEMEM_PARAM_CHOICE, .default_text = "0", \
    .choices = "0|1|2", .aliases = "ge.variableUse1gHugePage", \
    .offset = G_STRUCT_OFFSET (Type, field.option), \
    .help = "Pages of 1 GiB instead: none (0), only memory of the driver's 1 GiB type (1), or " \
            "that first and the 2 MiB type for good once it is " \
            "refused (2)." \
  }

static inline guint64
gemem_ge_page_params_size (const GePageParams *params)
{
  if (params->option != GE_1G_NO)
    return GE_HUGE_PAGE;
  return params->page_size == GE_PAGE_SIZE_8M ? GE_LARGE_PAGE : GE_SMALL_PAGE;
}

static inline void
gemem_ge_page_stats (const GePages *pages, GememStatFunc func, gpointer data)
{
  func ("physical_pages", pages->pages->len, "", data);
  func ("page_users", pages->users, "", data);
  func ("fell_back_to_2m_type", pages->fell_back, "", data);
}
