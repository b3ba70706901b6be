/* json-fields.c - see json-fields.h.  Names are those of the structs in result.h; a new field there
 * is a new line here. */
#include "config.h"

#include "sim/report/json-fields.h"

#define TEXT(name) \
  { \
#name, G_STRUCT_OFFSET(GememResult, name) \
  }
#define ADDED_TEXT(name) \
  { \
#name, G_STRUCT_OFFSET(GememResult, name), TRUE \
  }
#define NUMBER(type, name) \
  { \
#name, GEMEM_FIELD_NUMBER, G_STRUCT_OFFSET(type, name) \
  }
#define HEX(type, name) \
  { \
#name, GEMEM_FIELD_HEX, G_STRUCT_OFFSET(type, name) \
  }
#define BOOL(type, name) \
  { \
#name, GEMEM_FIELD_BOOL, G_STRUCT_OFFSET(type, name) \
  }
#define ADDED(type, name, form) \
  { \
#name, form, G_STRUCT_OFFSET(type, name), TRUE \
  }
#define VALUE(name) NUMBER (GememResult, name)
#define END \
  { \
    NULL, GEMEM_FIELD_NUMBER, 0 \
  }

const GememJsonMember gemem_json_texts[] = {
  TEXT (trace),
  TEXT (trace_sha256),
  TEXT (allocator),
  TEXT (label),
  TEXT (device),
  ADDED_TEXT (device_from),
  ADDED_TEXT (hardware),
  TEXT (failure),
  ADDED_TEXT (not_allowed),
  ADDED_TEXT (approximation),
  ADDED_TEXT (histories),
  { NULL, 0 },
};

const GememJsonMember gemem_json_settings[] = {
  TEXT (parameters),     TEXT (device_settings), TEXT (variables),
  ADDED_TEXT (lowering), TEXT (stats),           { NULL, 0 },
};

const GememJsonMember gemem_json_histograms[] = {
  TEXT (alloc_ns), TEXT (free_ns), TEXT (measured_alloc_ns), TEXT (measured_free_ns), { NULL, 0 }
};

const GememJsonField gemem_json_values[] = {
  VALUE (events),
  VALUE (initial_events),
  VALUE (initial_blocks),
  VALUE (allocs),
  VALUE (frees),
  VALUE (trims),
  VALUE (failed_allocs),
  VALUE (skipped_frees),
  VALUE (zero_allocs),
  VALUE (graph_loads),
  VALUE (inconsistent),
  ADDED (GememResult, initial_reserved, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, state_unfit, GEMEM_FIELD_BOOL),
  ADDED (GememResult, state_adopted, GEMEM_FIELD_BOOL),
  ADDED (GememResult, device_assumed, GEMEM_FIELD_BOOL),
  ADDED (GememResult, sleeps, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, sleeping_allocs, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, unslept, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, recorded_ooms, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, recorded_ooms_served, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, recorded_oom_size, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, recorded_oom_seq, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, after_recorded_oom, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, peak_host_backup, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, end_host_backup, GEMEM_FIELD_NUMBER),
  VALUE (peak_live),
  VALUE (peak_live_seq),
  VALUE (peak_allocated),
  VALUE (peak_allocated_seq),
  VALUE (peak_reserved),
  VALUE (peak_reserved_seq),
  ADDED (GememResult, peak_asked, GEMEM_FIELD_NUMBER),
  VALUE (lower_bound),
  VALUE (allocated_at_live_peak),
  VALUE (reserved_at_live_peak),
  VALUE (largest_free_at_live_peak),
  VALUE (end_live),
  VALUE (end_allocated),
  VALUE (end_reserved),
  VALUE (leaked_blocks),
  VALUE (internal_mean),
  VALUE (external_mean),
  BOOL (GememResult, time_weighted),
  VALUE (retries),
  VALUE (capacity),
  VALUE (cost_numbers),
  VALUE (cost_guesses),
  VALUE (ooms),
  VALUE (ooms_avoidable),
  VALUE (modelled_total_ns),
  VALUE (measured_total_ns),
  ADDED (GememResult, as_now, GEMEM_FIELD_BOOL),
  ADDED (GememResult, peak_now, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, least_placement, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, idle_known, GEMEM_FIELD_BOOL),
  ADDED (GememResult, idle_reserved, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, idle_live, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, idle_stream, GEMEM_FIELD_HEX),
  ADDED (GememResult, histories_runs, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, histories_failed, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, histories_least, GEMEM_FIELD_NUMBER),
  ADDED (GememResult, histories_most, GEMEM_FIELD_NUMBER),
  VALUE (least_capacity),
  BOOL (GememResult, capacity_monotone),
  END,
};

const GememJsonField gemem_json_fidelity[] = {
  NUMBER (GememFidelity, compared),
  NUMBER (GememFidelity, equal),
  NUMBER (GememFidelity, first_difference),
  HEX (GememFidelity, expected_address),
  HEX (GememFidelity, got_address),
  NUMBER (GememFidelity, parted),
  NUMBER (GememFidelity, segments_compared),
  NUMBER (GememFidelity, segments_equal),
  NUMBER (GememFidelity, first_segment_difference),
  ADDED (GememFidelity, recorded_peak, GEMEM_FIELD_NUMBER),
  END,
};

static const GememJsonField oom_fields[] = {
  NUMBER (GememOom, seq),
  NUMBER (GememOom, id),
  NUMBER (GememOom, requested),
  HEX (GememOom, stream),
  NUMBER (GememOom, live),
  NUMBER (GememOom, allocated),
  NUMBER (GememOom, reserved),
  NUMBER (GememOom, capacity),
  NUMBER (GememOom, device_free),
  NUMBER (GememOom, largest_free),
  BOOL (GememOom, avoidable),
  NUMBER (GememOom, missing),
  NUMBER (GememOom, blocking_id),
  NUMBER (GememOom, blocking_size),
  ADDED (GememOom, waiting, GEMEM_FIELD_BOOL),
  ADDED (GememOom, wake, GEMEM_FIELD_BOOL),
  ADDED (GememOom, origin, GEMEM_FIELD_ORIGIN),
  ADDED (GememOom, blocking_origin, GEMEM_FIELD_ORIGIN),
  END,
};

static const GememJsonField timeline_fields[] = {
  NUMBER (GememTimelinePoint, seq),           NUMBER (GememTimelinePoint, time),
  NUMBER (GememTimelinePoint, live),          NUMBER (GememTimelinePoint, allocated),
  NUMBER (GememTimelinePoint, reserved),      NUMBER (GememTimelinePoint, live_max),
  NUMBER (GememTimelinePoint, allocated_max), NUMBER (GememTimelinePoint, reserved_max),
  NUMBER (GememTimelinePoint, largest_free),  END,
};

static const GememJsonField map_fields[] = {
  { "address", GEMEM_FIELD_HEX, G_STRUCT_OFFSET (GememMapSpan, span.address) },
  { "size", GEMEM_FIELD_NUMBER, G_STRUCT_OFFSET (GememMapSpan, span.size) },
  { "segment", GEMEM_FIELD_HEX, G_STRUCT_OFFSET (GememMapSpan, span.segment) },
  { "segment_size", GEMEM_FIELD_NUMBER, G_STRUCT_OFFSET (GememMapSpan, span.segment_size) },
  { "stream", GEMEM_FIELD_HEX, G_STRUCT_OFFSET (GememMapSpan, span.stream) },
  { "pool", GEMEM_FIELD_INDEX, G_STRUCT_OFFSET (GememMapSpan, span.pool) },
  { "state", GEMEM_FIELD_STATE, G_STRUCT_OFFSET (GememMapSpan, span.state) },
  { "user", GEMEM_FIELD_HEX, G_STRUCT_OFFSET (GememMapSpan, span.user) },
  { "requested", GEMEM_FIELD_NUMBER, G_STRUCT_OFFSET (GememMapSpan, requested) },
  ADDED (GememMapSpan, id, GEMEM_FIELD_NUMBER),
  ADDED (GememMapSpan, origin, GEMEM_FIELD_ORIGIN),
  ADDED (GememMapSpan, cause, GEMEM_FIELD_WHY),
  END,
};

static const GememJsonField idle_fields[] = {
  { "cause", GEMEM_FIELD_CAUSE, G_STRUCT_OFFSET (GememIdleRow, cause) },
  NUMBER (GememIdleRow, bytes),
  NUMBER (GememIdleRow, count),
  NUMBER (GememIdleRow, largest),
  HEX (GememIdleRow, stream),
  { "pool", GEMEM_FIELD_INDEX, G_STRUCT_OFFSET (GememIdleRow, pool) },
  BOOL (GememIdleRow, used),
  BOOL (GememIdleRow, released),
  NUMBER (GememIdleRow, blocks),
  NUMBER (GememIdleRow, id),
  NUMBER (GememIdleRow, size),
  { "origin", GEMEM_FIELD_ORIGIN, G_STRUCT_OFFSET (GememIdleRow, origin) },
  END,
};

static const GememJsonField pin_fields[] = {
  { "origin", GEMEM_FIELD_ORIGIN, G_STRUCT_OFFSET (GememPin, origin) },
  NUMBER (GememPin, bytes),
  NUMBER (GememPin, segments),
  NUMBER (GememPin, blocks),
  ADDED (GememPin, size, GEMEM_FIELD_NUMBER),
  ADDED (GememPin, others, GEMEM_FIELD_NUMBER),
  ADDED (GememPin, id, GEMEM_FIELD_NUMBER),
  ADDED (GememPin, rest, GEMEM_FIELD_BOOL),
  END,
};

static const GememJsonField block_fields[] = {
  NUMBER (GememNamedBlock, id),
  NUMBER (GememNamedBlock, size),
  ADDED (GememNamedBlock, origin, GEMEM_FIELD_ORIGIN),
  END,
};

static const GememJsonField stream_fields[] = {
  HEX (GememStreamUse, stream),
  NUMBER (GememStreamUse, peak_live),
  NUMBER (GememStreamUse, peak_allocated),
  NUMBER (GememStreamUse, allocs),
  END,
};

static const GememJsonField class_fields[] = {
  NUMBER (GememSizeClassUse, limit),
  NUMBER (GememSizeClassUse, allocs),
  NUMBER (GememSizeClassUse, internal_waste_at_peak),
  NUMBER (GememSizeClassUse, live_at_peak),
  END,
};

static const GememJsonField epoch_fields[] = {
  NUMBER (GememEpoch, peak_live),
  NUMBER (GememEpoch, peak_allocated),
  NUMBER (GememEpoch, peak_reserved),
  NUMBER (GememEpoch, end_reserved),
  NUMBER (GememEpoch, end_largest_free),
  NUMBER (GememEpoch, ooms),
  END,
};

static const GememJsonField share_fields[] = {
  NUMBER (GememShare, seq),
  NUMBER (GememShare, event),
  { "failed", GEMEM_FIELD_INDEX, G_STRUCT_OFFSET (GememShare, failed) },
  { "program", GEMEM_FIELD_INDEX, G_STRUCT_OFFSET (GememShare, program) },
  NUMBER (GememShare, live),
  NUMBER (GememShare, allocated),
  NUMBER (GememShare, reserved),
  END,
};

#define ARRAY(name, fields, type, ...) \
  { \
#name, fields, G_STRUCT_OFFSET(GememResult, name), sizeof(type), __VA_ARGS__ \
  }
const GememJsonArray gemem_json_arrays[] = {
  ARRAY (oom, oom_fields, GememOom, FALSE),
  ARRAY (idle, idle_fields, GememIdleRow, FALSE, TRUE),
  ARRAY (pins, pin_fields, GememPin, FALSE, TRUE),
  ARRAY (idle_at_failure, idle_fields, GememIdleRow, FALSE, TRUE),
  ARRAY (largest, block_fields, GememNamedBlock, FALSE, TRUE),
  ARRAY (leaked, block_fields, GememNamedBlock, FALSE, TRUE),
  ARRAY (streams, stream_fields, GememStreamUse, FALSE),
  ARRAY (classes, class_fields, GememSizeClassUse, FALSE),
  ARRAY (epochs, epoch_fields, GememEpoch, FALSE),
  ARRAY (timeline, timeline_fields, GememTimelinePoint, TRUE),
  ARRAY (map, map_fields, GememMapSpan, TRUE),
  { NULL, NULL, 0, 0, FALSE },
};

const GememJsonArray gemem_json_shares = ARRAY (shares, share_fields, GememShare, FALSE, TRUE);

const char *const gemem_json_orders[] = { "time", "evenly", "turns", NULL };

const char *const gemem_json_states[] = { "live", "pending", "free", "overhead", "unmapped", NULL };

const char *const gemem_json_causes[] = { "streams", "pools",    "returnable", "oversize", "pinned",
                                          "waiting", "rounding", "allocator",  NULL };
