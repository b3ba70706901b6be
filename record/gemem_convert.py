"""gemem_convert.py - a trace in any format becomes a .gmt (or .txt) file, by gemem-sim; for gemem_torch.py and gemem_rmm.py beside it."""
import os
import subprocess


def convert(source, path, *options):
    """Writes the trace in the file SOURCE to PATH; RuntimeError with gemem-sim's own message if that cannot be done."""
    command = [os.environ.get("GEMEM_SIM", "gemem-sim"), "convert", *options, source, path]
    try:
        result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        raise RuntimeError(f"{command[0]}: {error.strerror}; install gemem, or name gemem-sim by $GEMEM_SIM") from error
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip())
