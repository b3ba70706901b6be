calls = []
A, M = 0x7F0000000000, 1 << 20


def _record_memory_history(enabled="all", **options):
    if "global_record_annotations" in options and calls == ["older"]:
        raise TypeError("an older PyTorch")
    calls.append(enabled)


def _snapshot():
    event = {"stream": 0, "time_us": 1700000000000000, "frames": []}
    segment = {"device": 0, "address": A, "total_size": 2 * M, "allocated_size": 0, "active_size": 0, "stream": 0, "segment_type": "small",
               "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
               "blocks": [{"address": A, "size": 2 * M, "requested_size": 0, "state": "inactive", "frames": []}]}
    trace = [dict(event, action="segment_alloc", addr=A, size=2 * M), dict(event, action="alloc", addr=A, size=1000),
             dict(event, action="free_requested", addr=A, size=1000), dict(event, action="free_completed", addr=A, size=1000)]
    return {"segments": [segment], "device_traces": [trace], "allocator_settings": {}}
