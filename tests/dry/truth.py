"""truth.py - the dry run against a GPU: programs whose memory an H100 told, run without one.

    truth.py PROGRAMS PYTHON [NAME...]

PROGRAMS has NAME.py and NAME.json, what the GPU said of it (../shared/gpu/programs).  Each program whose packages PYTHON has is run under gemem-dry-run, and its
recording replayed with the addresses of its driver (doc/systems/cuda-driver.md).  Prints a table, then a line of TAP for each figure of EXPECTED that is as it should
be; '=' in the table is equality to the byte, else by how much the prediction is off.

The program's own figures are compared with those of its GPU: bytes requested, allocated (rounded by PyTorch) and reserved at their peaks.
"""
import json
import os
import re
import subprocess
import sys

FIGURES = (("live", "peak_live", "peak_requested"), ("allocated", "peak_allocated", "max_memory_allocated"), ("reserved", "peak_reserved", "max_memory_reserved"))
# What is equal to the byte; what is not named here is open: doc/fidelity.md tells why.
EXPECTED = {
    "accumulate_shapes": "live allocated reserved",
    "compile_train": "live allocated reserved",
    "conv3d": "live allocated reserved",
    "cuda_graphs": "live allocated reserved",
    "expandable": "live allocated reserved",
    "fft": "live allocated reserved",
    "gcn": "live allocated reserved",
    "gp_exact": "live allocated reserved",
    "gpt2_fp32": "live allocated reserved",
    "lightning_run": "live allocated reserved",
    "linalg": "live allocated reserved",
    "llama1b_ckpt": "live allocated reserved",
    "lstm_gru": "live allocated reserved",
    "oom_retry": "live allocated reserved",
    "resnet18_benchmark": "live",
    "streams": "live allocated",
    "wgan_gp": "live reserved",
}

# The GPU's reserved bytes lie between two ends: two draws of numbers that kernels compute, workspaces that times choose, and work of streams that is done at once or
# when the host waits.
BETWEEN = ("moe_masks", "resnet18_benchmark", "streams")


def predict(program, python, options):
    """The peaks of a dry run, and what its verdict says."""
    environment = dict(os.environ, PYTHONPATH="", PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run(
        ["gemem-dry-run", "--gpu", "h100"] + options + ["-o", "truth.gmt", "--json", "truth.json", python, program], capture_output=True, text=True, env=environment
    )
    if done.returncode != 0:
        raise RuntimeError("ended with status %d: %s" % (done.returncode, done.stderr.strip().splitlines()[-1:]))
    with open("truth.json") as stream:
        verdict = json.load(stream)
    process = verdict["processes"][0]
    # what was refused is refused again on the device that the recording tells of, not on a larger one
    device = ["-d", "h100:address=cuda"] if process["out_of_memory"] == 0 else []
    replay = subprocess.run(["gemem-sim", "replay", "-q", "-f", "json", "truth.gmt"] + device, check=True, capture_output=True, text=True)
    measures = json.loads(replay.stdout)["results"][0]["measures"]
    return {name: measures[key] for name, key, _ in FIGURES}, verdict


def is_between(verdict, real):
    other = int(re.search(r"\((\d+) bytes\)", verdict["other_draw"]).group(1)) if "other_draw" in verdict else verdict["needed_most"]
    process = verdict["processes"][0]
    beside = verdict["context"] + process["held"] - process["peak_reserved"]  # what libraries hold of the device is not the allocator's
    ends = sorted((verdict["needed"] - beside, other - beside))
    return ends[0] <= real <= ends[1] < 1.05 * ends[0]


def has(python, source, versions):
    """What of the packages that SOURCE imports PYTHON has not, or None; and which it has in other VERSIONS than those of the GPU's run, but NumPy."""
    with open(source) as stream:
        imports = [line for line in stream if line.startswith(("import ", "from "))]
    tell = "\nimport json; print(json.dumps({name: getattr(one, '__version__', None) for name, one in sys.modules.items() if '.' not in name}, default=str))"
    test = "import sys; sys.path.insert(0, %r)\n%s%s" % (os.path.dirname(source), "".join(imports), tell)
    done = subprocess.run([python, "-c", test], capture_output=True, text=True, env=dict(os.environ, CUDA_VISIBLE_DEVICES=""))
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[-1], ""
    own = json.loads(done.stdout.strip().splitlines()[-1])
    other = ["%s %s, the GPU had %s" % (name, own[name], version) for name, version in versions.items() if name != "numpy" and own.get(name) and own[name] != version]
    return None, "; ".join(other)


def off(predicted, real):
    return "=" if predicted == real else "%+.3f %%" % (100.0 * (predicted - real) / real)


def main():
    programs, python, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    lines = []
    print("# %-20s %16s %10s %10s %10s  only if" % ("program", "real live", "live", "allocated", "reserved"))
    for name in sorted(file[:-5] for file in os.listdir(programs) if file.endswith(".json")):
        if only and name not in only:
            continue
        source = os.path.join(programs, name + ".py")
        with open(os.path.join(programs, name + ".json")) as stream:
            real = json.load(stream)
        if "max_memory_reserved" not in real:
            continue  # not PyTorch's
        missing, others = has(python, source, real["versions"])
        if missing:
            lines += ["ok - %s # SKIP %s" % (name, missing)]
            continue
        try:
            predicted, verdict = predict(source, python, [] if name in BETWEEN else ["--once"])
        except RuntimeError as error:
            lines += ["not ok - %s: %s" % (name, error)]
            continue
        row = {figure: off(predicted[figure], real[key]) for figure, _, key in FIGURES}
        print("# %-20s %16d %10s %10s %10s  %s" % (name, real["peak_requested"], row["live"], row["allocated"], row["reserved"], "; ".join(c.split(" that ")[0] for c in verdict["only_if"])))
        sys.stdout.flush()
        if name in BETWEEN:
            lines += ["%s - %s: between two ends, less than 5 %% apart" % ("ok" if is_between(verdict, real["max_memory_reserved"]) else "not ok", name)]
        for figure in EXPECTED.get(name, "").split():
            if row[figure] != "=" and others:
                lines += ["ok - %s: %s bytes # SKIP %s" % (name, figure, others)]
                continue
            lines += ["%s - %s: %s bytes as on the H100" % ("ok" if row[figure] == "=" else "not ok", name, figure)]
    print("\n".join(lines))


main()
