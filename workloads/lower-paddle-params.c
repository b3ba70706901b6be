/* lower-paddle-params.c - the flags of PaddlePaddle's execution: defaults by era, and combinations
 * in which a flag has no effect; see lower-paddle.h.
 *
 * Where several releases share a preset the earlier form is the default (in-place pass and fusion
 * of 1.4 for P14); `version` names one of them, `inplace_version` and `fuse_version` select another
 * pass.  In which release a flag came is the manual's word: no wheel is old enough to tell, and
 * where only the preset is given it is not asked.  Origin: paddle.md 1.1, 1.2, 5.1, 5.3, 6.1, 7,
 * 13.1.
 */
#include "config.h"

#include <math.h>

#include "base/flags.h"
#include "base/rules.h"
#include "workloads/lower-paddle.h"

typedef GememLowerPaddle Params;

#define BY_PRESET (-1) /* of `version` */

#define BY_PRESET_REAL "-1e300"
#define BY_PRESET_INT "-4294967296"
#define IS_BY_PRESET_INT(value) ((value) == G_GINT64_CONSTANT (-4294967296))
#define IS_BY_PRESET_REAL(value) ((value) < -1e299)

enum
{
  STRATEGY_DEFAULT,
  STRATEGY_LEGACY,
  STRATEGY_NAIVE_BEST_FIT,
  STRATEGY_AUTO_GROWTH,
  STRATEGY_THREAD_LOCAL
};
enum
{
  VERSION_BY_PRESET,
  VERSION_1_4,
  VERSION_1_5,
  VERSION_1_6
};

#define ROW(field_name, kind, field) \
  .name = field_name, .type = kind, .offset = G_STRUCT_OFFSET (Params, field)
/* A flag of Paddle, which --env and the table of flags list under its alias. */
#define FLAG(field_name, kind, field) ROW (field_name, kind, field), .aliases = "FLAGS_" field_name
#define VERSIONS .default_text = "version", .choices = "version|1.4|1.5|1.6|1.3=1.4"

const GememParam gemem_lower_paddle_params[] = {
  GEMEM_LOWER_PARAMS (Params),
  { ROW ("preset", GEMEM_PARAM_CHOICE, preset), .default_text = "P3",
    .choices = "P13|P14|P16|P2|P3|P2/P3=P3",
    .help = "Group of releases, in place of version: P13 (1.2-1.3), P14 (1.4-1.5), P16 (1.6-2.0), "
            "P2 (2.1-2.6), P3 (3.x)." },
  { ROW ("version", GEMEM_PARAM_CHOICE, version), .default_text = "default",
    .flags = GEMEM_PARAM_RELEASE, .choices = GEMEM_PADDLE_VERSION_CHOICES, .conflicts = "preset",
    .help = "Release of Paddle (default: 3.x, 1.5 with rules=documented, or what preset says): its "
            "flags, defaults, in-place "
            "pass and rules of fusion." },
  GEMEM_RULES_ROW (
      Params, rules,
      "garbage collection is off by default, fractions are of the number of tensors, and "
      "whitelisted operators are never in place. Gradients lie in groups of "
      "fuse_parameter_groups_size (3) up to fuse_parameter_memory_size MiB. "
      "Every allocator obeys init_allocated_mem. Workspaces of exactly "
      "times_excess_than_required_tmp_allocation times the size are reused, too."),
  { ROW ("place", GEMEM_PARAM_CHOICE, cpu), .default_text = "gpu", .choices = "gpu|cpu",
    .help = "Where the program runs.  cpu: no stream is waited for, workspaces are freed at once, "
            "fused gradients are padded to 4 KiB." },
  { ROW ("executor", GEMEM_PARAM_CHOICE, parallel), .default_text = "plain",
    .choices = "plain|parallel|Executor=plain|ParallelExecutor=parallel",
    .help = "plain: operators one by one; parallel: ParallelExecutor or CompiledProgram, with "
            "their graph passes." },
  { FLAG ("allocator_strategy", GEMEM_PARAM_CHOICE, allocator_strategy), .default_text = "version",
    .choices = "version|legacy|naive_best_fit|auto_growth|thread_local",
    .help = "What reports the sizes that count as garbage: requested bytes, in auto_growth "
            "multiples of 256, in naive_best_fit until 1.5 64 more "
            "(version: that of the version).  Default in 1.2-1.5: legacy, 1.6: naive_best_fit, "
            "1.7-3.x: auto_growth." },
  { FLAG ("eager_delete_tensor_gb", GEMEM_PARAM_DOUBLE, eager_delete_tensor_gb),
    .default_text = "version", .sweep = "-1|0|0.1|0.25|0.5|1|2|4",
    .special = "version=" BY_PRESET_REAL, .min = "-8000000000", .max = "8000000000",
    .help = "Garbage goes when there are this many GiB; 0: at once; negative: at the end of the "
            "run (inference builds: -1).  "
            "Default in 1.2-1.5: -1, 1.6-3.x: 0." },
  { FLAG ("fast_eager_deletion_mode", GEMEM_PARAM_BOOL, fast_eager_deletion_mode),
    .default_text = "yes",
    .help = "yes: garbage goes while the stream still works on it; no: when the stream has passed "
            "(see host_ahead).  Default in 1.3-3.x: yes." },
  { ROW ("host_ahead", GEMEM_PARAM_UINT, host_ahead), .default_text = "1", .sweep = "0|1|2|4|8|16",
    .max = "4294967295",
    .help = "Operators that the host is ahead of the stream, which fast_eager_deletion_mode=no "
            "waits for (a model, no flag)." },
  { ROW ("memory_fraction_of_eager_deletion", GEMEM_PARAM_DOUBLE, fraction), .default_text = "1",
    .sweep = "0|0.25|0.5|0.75|0.9|1", .min = "0", .max = "1",
    .aliases = "fraction|FLAGS_memory_fraction_of_eager_deletion",
    .help = "Only the largest tensors are garbage, up to this fraction of all bytes "
            "(executor=parallel).  Default in 1.4-3.x: 1." },
  { FLAG ("eager_delete_scope", GEMEM_PARAM_BOOL, eager_delete_scope), .default_text = "yes",
    .help =
        "What is left at the end of a run goes then; no: in the background (see scope_delay), "
        "which saves scope_cost.  Memory differs with steps above 1 where a run leaves something: "
        "all without collection (eager_delete_tensor_gb=-1), with it what is fed, fetched or "
        "used by several blocks.  Default in 1.2-3.x: yes." },
  { ROW ("scope_delay", GEMEM_PARAM_UINT, scope_delay), .default_text = "1",
    .sweep = "0|1|2|4|8|16|64", .max = "4294967295",
    .help = "Operators of the next run that have run when eager_delete_scope=no has freed what the "
            "last one left (a model, no flag)." },
  { ROW ("scope_cost", GEMEM_PARAM_DOUBLE, scope_cost), .default_text = "1", .sweep = "0|0.5|1|2|5",
    .min = "0", .max = "100",
    .help = "Percent of time_per_node that eager_delete_scope=no saves: the manual's figure, a "
            "guess until it is measured (a model, no flag)." },
  { ROW ("enable_inplace", GEMEM_PARAM_BOOL, enable_inplace), .default_text = "no",
    .help = "BuildStrategy's in-place pass: outputs take over inputs that end there "
            "(executor=parallel)." },
  { FLAG ("enable_inplace_whitelist", GEMEM_PARAM_BOOL, enable_inplace_whitelist),
    .default_text = "no",
    .help = "1.3 and 1.4: only whitelisted operators work in place; 1.5, and rules=documented: "
            "only the others; since 1.6: no such flag.  "
            "Default in 1.3-1.5: no." },
  { ROW ("inplace_version", GEMEM_PARAM_CHOICE, inplace_version), VERSIONS,
    .help = "Release whose in-place pass it is (version: that of `version`)." },
  { ROW ("fuse_all_reduce_ops", GEMEM_PARAM_BOOL, fuse_all_reduce_ops), .default_text = "no",
    .help = "BuildStrategy's fusion of gradients: they lie in buffers that are allocated once "
            "(executor=parallel, since 1.4)." },
  { ROW ("fuse_version", GEMEM_PARAM_CHOICE, fuse_version), VERSIONS,
    .help = "Release whose rules of fusion they are (version: that of `version`)." },
  { FLAG ("fuse_parameter_memory_size", GEMEM_PARAM_DOUBLE, fuse_parameter_memory_size),
    .default_text = "version", .sweep = "-1|0|1|4|16|32|64|128",
    .special = "version=" BY_PRESET_REAL, .min = "-1e15", .max = "1e15",
    .help =
        "A group of fused gradients is closed at this size: bytes in 1.4 (0: off), MiB since 1.5 "
        "(negative: off; 0: off, since 1.6 one group of all). "
        "Documented: the most MiB of a group, -1: no limit.  "
        "Default in 1.4-1.5: 0, 1.6-3.x: -1." },
  { FLAG ("fuse_parameter_groups_size", GEMEM_PARAM_INT, fuse_parameter_groups_size),
    .default_text = "version", .sweep = "-1|1|3|10|50", .special = "version=" BY_PRESET_INT,
    .min = "-2147483648", .max = "2147483647",
    .help = "1.4: groups that are merged (-1: all). Since 1.5: parameters after which a group is "
            "closed (1: never), where fuse_parameter_memory_size is above 0. "
            "Documented: parameters of a group (-1: all; 3 by default).  "
            "Default in 1.4-1.5: 3, 1.6-3.x: 1." },
  { ROW ("places", GEMEM_PARAM_UINT, places), .default_text = "0", .special = "version=0",
    .max = "65536",
    .help = "Devices that train together; since 1.6 a single one fuses nothing (version: 1, since "
            "1.6 2)." },
  { FLAG ("init_allocated_mem", GEMEM_PARAM_BOOL, init_allocated_mem), .default_text = "no",
    .help = "Every allocation of a buddy strategy, as documented of any, is filled (0xEF), by its "
            "requested bytes; no address depends on it.  Default in 1.2-3.x: no." },
  { FLAG ("limit_of_tmp_allocation", GEMEM_PARAM_INT, limit_of_tmp_allocation),
    .default_text = "-1", .sweep = "-1|1048576|16777216|67108864|268435456|1073741824", .min = "-1",
    .help = "Bytes of returned workspaces above which they are really freed; 0 or -1: at the end "
            "of the run, as documented 0 frees at once (removed in 1.6).  Default in 1.3-1.5: "
            "-1." },
  { ROW ("times_excess_than_required_tmp_allocation", GEMEM_PARAM_DOUBLE, times_excess),
    .default_text = "2", .sweep = "1|1.25|1.5|2|4|8", .min = "0", .max = "1000000",
    .aliases = "reuse_tmp_allocation_excess_fraction|FLAGS_times_excess_than_required_tmp_"
               "allocation|FLAGS_reuse_tmp_allocation_excess_fraction",
    .help = "A returned workspace serves a request if it is less than this many times as large "
            "(removed in 1.6). As documented it may be as many times as large, and the number is "
            "whole.  Default in 1.3-1.5: 2." },
  { NULL },
};

static gboolean
usage (GError **error, const char *text)
{
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE, "paddle: %s", text);
  return FALSE;
}

/* TRUE if the release has what came with @since; of a preset alone that is not asked. */
static gboolean
has (const Params *p, GememPaddleVersion since)
{
  return p->version == BY_PRESET || p->version >= (int) since;
}

static gboolean
resolve_strategy (Params *p, GError **error)
{
  const gboolean old = p->preset <= GEMEM_ERA_P14;
  /* the wheels from 1.7 on have auto_growth, and 2.0 has thread_local (13.1) */
  const gboolean by_best_fit = p->version == (int) GEMEM_PADDLE_1_6;

  if (p->cpu && p->allocator_strategy != STRATEGY_DEFAULT)
    return usage (error, "allocator_strategy would have no effect: it chooses what serves the GPU; "
                         "choose place=gpu");
  p->unit = 1;
  p->extra = 0;
  if (p->cpu)
    return TRUE;
  if (p->allocator_strategy == STRATEGY_DEFAULT)
    p->allocator_strategy = old           ? STRATEGY_LEGACY
                            : by_best_fit ? STRATEGY_NAIVE_BEST_FIT
                                          : STRATEGY_AUTO_GROWTH;
  if (p->allocator_strategy == STRATEGY_LEGACY && !old)
    return usage (error, "allocator_strategy=legacy ended with 1.5; its allocator is "
                         "naive_best_fit since then, or choose version=1.5 or earlier");
  if (p->allocator_strategy == STRATEGY_AUTO_GROWTH && old)
    return usage (error,
                  "allocator_strategy=auto_growth exists since 1.6; choose version=1.6 or later");
  if (p->allocator_strategy == STRATEGY_THREAD_LOCAL && (old || !has (p, GEMEM_PADDLE_2_0)))
    return usage (error,
                  "allocator_strategy=thread_local exists since 2.0; choose version=2.0 or later");
  p->unit = p->allocator_strategy == STRATEGY_AUTO_GROWTH ? 256 : 1;
  p->extra = p->allocator_strategy == STRATEGY_NAIVE_BEST_FIT && old ? 64 : 0;
  return TRUE;
}

/* TRUE if the allocator fills memory.  On the host that is a buddy, only until 2.6 (1.2). */
static gboolean
fills (const Params *p)
{
  if (p->rules == GEMEM_RULES_DOCUMENTED)
    return TRUE;
  if (p->cpu)
    return p->preset <= GEMEM_ERA_P2;
  return p->allocator_strategy != STRATEGY_AUTO_GROWTH
         && !(p->allocator_strategy == STRATEGY_NAIVE_BEST_FIT && p->preset <= GEMEM_ERA_P14);
}

/* The release of a graph pass where none was chosen. */
static int
pass_version (const Params *p)
{
  if (p->version == (int) GEMEM_PADDLE_1_5)
    return VERSION_1_5;
  return p->preset <= GEMEM_ERA_P14 ? VERSION_1_4 : VERSION_1_6;
}

/* TRUE if the in-place pass asks enable_inplace_whitelist.  The manual knows it since 1.4 and does
 * not say that it went. */
static gboolean
asks_whitelist (const Params *p)
{
  return p->rules == GEMEM_RULES_DOCUMENTED
             ? p->preset >= GEMEM_ERA_P14
             : p->inplace_version != VERSION_1_6 && has (p, GEMEM_PADDLE_1_3);
}

static gboolean
check (const Params *p, GError **error)
{
  const gboolean old = p->preset <= GEMEM_ERA_P14, collects = p->threshold >= 0;
  const gboolean documented = p->rules == GEMEM_RULES_DOCUMENTED;
  const char *gpu_only = "is about the GPU; choose place=gpu";
  const gboolean fuses = p->parallel && p->preset >= GEMEM_ERA_P14;
  const gboolean fuse_version = p->fuse_version != pass_version (p),
                 memory_size = !IS_BY_PRESET_REAL (p->fuse_parameter_memory_size),
                 groups_size = !IS_BY_PRESET_INT (p->fuse_parameter_groups_size);
  const char *graph_only = "is a graph pass; choose executor=parallel";
  const char *fuse_only =
      p->preset >= GEMEM_ERA_P14 ? "is a graph pass since 1.4; choose executor=parallel"
      : p->parallel
          ? "is a graph pass since 1.4; choose version=1.4 or later"
          : "is a graph pass since 1.4; choose executor=parallel and version=1.4 or later";
  const char *why_not_fused = "places gradients; set fuse_all_reduce_ops=yes";
  const char *why_not_collected =
      "counts where garbage is collected; set eager_delete_tensor_gb to 0 or more";
  const char *since_1_3 = "exists since 1.3; choose version=1.3 or later";
  const GememFlag flags[] = {
    { "fast_eager_deletion_mode", !p->fast_eager_deletion_mode, has (p, GEMEM_PADDLE_1_3),
      since_1_3 },
    { "memory_fraction_of_eager_deletion", p->fraction < 1, has (p, GEMEM_PADDLE_1_4),
      "exists since 1.4; choose version=1.4 or later" },
    { "fast_eager_deletion_mode", !p->fast_eager_deletion_mode, collects, why_not_collected },
    { "fast_eager_deletion_mode", !p->fast_eager_deletion_mode, !p->cpu, gpu_only },
    { "host_ahead", p->host_ahead != 1, !p->fast_eager_deletion_mode,
      "is waited for with fast_eager_deletion_mode=no only" },
    { "memory_fraction_of_eager_deletion", p->fraction < 1, p->parallel,
      "is read by graph executors only; choose executor=parallel" },
    { "memory_fraction_of_eager_deletion", p->fraction < 1, collects, why_not_collected },
    { "enable_inplace", p->enable_inplace, p->parallel, graph_only },
    { "scope_delay", p->scope_delay != 1, !p->eager_delete_scope,
      "is the delay of eager_delete_scope=no; set that" },
    { "scope_cost", p->scope_cost != 1, !p->eager_delete_scope,
      "is what eager_delete_scope=no saves; set that" },
    { "inplace_version", p->inplace_version != pass_version (p), p->enable_inplace,
      "says how enable_inplace=yes works; set that" },
    { "inplace_version", p->inplace_version != pass_version (p), p->parallel, graph_only },
    { "enable_inplace_whitelist", p->enable_inplace_whitelist,
      p->enable_inplace && asks_whitelist (p),
      documented
          ? "is asked by the in-place pass, since 1.4 as documented; set enable_inplace=yes, "
            "and version=1.4 or later"
          : "is asked by the in-place pass from 1.3 until 1.5; set enable_inplace=yes, and "
            "version=1.3 to 1.5" },
    { "enable_inplace_whitelist", p->enable_inplace_whitelist, p->parallel, graph_only },
    { "fuse_all_reduce_ops", p->fuse_all_reduce_ops, fuses, fuse_only },
    { "fuse_version", fuse_version, p->fuse_all_reduce_ops, why_not_fused },
    { "fuse_version", fuse_version, fuses, fuse_only },
    { "fuse_parameter_memory_size", memory_size, p->fuse_all_reduce_ops, why_not_fused },
    { "fuse_parameter_memory_size", memory_size, fuses, fuse_only },
    { "fuse_parameter_groups_size", groups_size, p->fuse_all_reduce_ops, why_not_fused },
    { "fuse_parameter_groups_size", groups_size, fuses, fuse_only },
    { "fuse_parameter_memory_size", memory_size, !documented || has (p, GEMEM_PADDLE_1_5),
      "exists since 1.5 as documented; choose version=1.5 or later, or rules=as-built" },
    { "fuse_parameter_groups_size", p->fuse_parameter_groups_size > 1,
      documented || p->fuse_version == VERSION_1_4 || p->fuse_parameter_memory_size > 0,
      "is asked since 1.5 where groups are merged by size; set fuse_parameter_memory_size above "
      "0" },
    { "places", p->places != 0, p->fuse_all_reduce_ops, why_not_fused },
    { "places", p->places != 0, fuses, fuse_only },
    { "places", p->places != 0, p->fuse_version == VERSION_1_6,
      "is asked since 1.6; choose fuse_version=1.6" },
    { "init_allocated_mem", p->init_allocated_mem, fills (p),
      p->cpu ? "fills what the buddy allocator gives, which the host has until 2.6; choose "
               "version=2.6 or earlier"
      : old  ? "fills what the buddy allocator gives; choose allocator_strategy=legacy, or "
               "rules=documented"
             : "fills what the buddy allocator gives; choose version=1.5 or earlier, "
               "allocator_strategy=naive_best_fit, or rules=documented" },
    { "limit_of_tmp_allocation", p->limit_of_tmp_allocation != -1, has (p, GEMEM_PADDLE_1_3),
      since_1_3 },
    { "times_excess_than_required_tmp_allocation", p->times_excess != 2, has (p, GEMEM_PADDLE_1_3),
      since_1_3 },
    { "limit_of_tmp_allocation", p->limit_of_tmp_allocation != -1, old,
      "was removed in 1.6; choose version=1.5 or earlier" },
    { "times_excess_than_required_tmp_allocation", p->times_excess != 2, old,
      "was removed in 1.6; choose version=1.5 or earlier" },
    { "limit_of_tmp_allocation", p->limit_of_tmp_allocation != -1, !p->cpu, gpu_only },
    { "times_excess_than_required_tmp_allocation", p->times_excess != 2, !p->cpu, gpu_only },
  };

  return gemem_check_flags ("paddle", flags, G_N_ELEMENTS (flags), error);
}

/* The manual types the flag as an integer; the program reads a real number. */
static gboolean
check_times (const Params *p, GError **error)
{
  char given[G_ASCII_DTOSTR_BUF_SIZE];

  if (p->rules != GEMEM_RULES_DOCUMENTED || p->times_excess == floor (p->times_excess))
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "paddle: times_excess_than_required_tmp_allocation=%s is refused by the manual, "
               "which has integers; give a whole number, or choose rules=as-built",
               g_ascii_dtostr (given, sizeof given, p->times_excess));
  return FALSE;
}

/* Numbers of parameters that no release gives a meaning to. */
static gboolean
check_groups (const Params *p, GError **error)
{
  const gint64 size = p->fuse_parameter_groups_size;

  if (IS_BY_PRESET_INT (size) || size == -1 || size > 0)
    return TRUE;
  g_set_error (error, GEMEM_ERROR, GEMEM_ERROR_USAGE,
               "paddle: fuse_parameter_groups_size: %" G_GINT64_FORMAT
               " is no number of a group's parameters; give -1 (one group), 1 or more",
               size);
  return FALSE;
}

gboolean
gemem_lower_paddle_resolve (Params *p, GError **error)
{
  const gboolean documented = p->rules == GEMEM_RULES_DOCUMENTED;
  gboolean old;

  p->version--;
  if (p->version == BY_PRESET && documented && p->preset == GEMEM_ERA_P3)
    p->version = GEMEM_PADDLE_1_5; /* the manual's release, as behind -a */
  if (p->version != BY_PRESET)
    p->preset = gemem_paddle_era ((GememPaddleVersion) p->version);
  old = p->preset <= GEMEM_ERA_P14;
  if (!resolve_strategy (p, error))
    return FALSE;
  if (IS_BY_PRESET_REAL (p->eager_delete_tensor_gb))
    p->eager_delete_tensor_gb = old || documented ? -1 : 0;
  p->threshold = p->eager_delete_tensor_gb < 0
                     ? -1
                     : (gint64) (p->eager_delete_tensor_gb * 1073741824.0);
  if (p->inplace_version == VERSION_BY_PRESET)
    p->inplace_version = pass_version (p);
  if (p->fuse_version == VERSION_BY_PRESET)
    p->fuse_version = pass_version (p);
  p->temporary = old && !p->cpu && has (p, GEMEM_PADDLE_1_3);
  p->whitelist = !p->enable_inplace_whitelist                       ? GEMEM_WHITELIST_OFF
                 : !documented && p->inplace_version == VERSION_1_4 ? GEMEM_WHITELIST_ONLY
                                                                    : GEMEM_WHITELIST_NOT;
  return check_groups (p, error) && check_times (p, error) && check (p, error);
}
