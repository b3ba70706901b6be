/* ge-page-trials.h - GE's page pool and session ranges against a naive model of ge-runtime.md 4 and
 * 5.9, over random operations.
 *
 * The model (naive-ge-range.c, naive-ge-session.c) shares no code with them. Parts of a range are
 * bound and unbound at random, so that pages are used by several, refused, idle and lost. Used short in test-ge-pages.c and long in long-ge-pages.c.
 */
#pragma once

#include <glib.h>

/* @operations on several ranges over one page pool; the first difference fails the test.  @reuse:
 * the ranges take pages that others returned.
 * @virtual_memory FALSE: a device that reserves no addresses. */
void test_ge_page_trial (guint64 seed, guint operations, gboolean reuse, gboolean virtual_memory);
