"""backend.py - makes the wheel of the package (PEP 517), so that `pip install ./python` needs no network and no other package.

The name, the version and so on are those of pyproject.toml, line by line: Python before 3.11 cannot read that format.
"""
import base64
import hashlib
import os
import re
import tarfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def _project():
    with open(os.path.join(HERE, "pyproject.toml"), encoding="utf-8") as stream:
        return dict(re.findall(r'^([a-z-]+) = "(.*)"$', stream.read(), re.MULTILINE))


def _metadata(project):
    return (f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\nSummary: {project['description']}\n"
            f"Requires-Python: {project['requires-python']}\n")


def _modules():
    folder = os.path.join(HERE, "gemem")
    return [(f"gemem/{name}", os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name.endswith(".py")]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel; returns its name."""
    project = _project()
    info = f"{project['name']}-{project['version']}.dist-info"
    name = f"{project['name']}-{project['version']}-py3-none-any.whl"
    files = {}
    for inside, path in _modules():
        with open(path, "rb") as stream:
            files[inside] = stream.read()
    files[f"{info}/METADATA"] = _metadata(project).encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: gemem\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    digest = lambda data: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record = "".join(f"{path},sha256={digest(data)},{len(data)}\n" for path, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Writes the source archive; returns its name."""
    project = _project()
    base = f"{project['name']}-{project['version']}"
    with tarfile.open(os.path.join(sdist_directory, f"{base}.tar.gz"), "w:gz") as archive:
        for inside, path in _modules() + [(name, os.path.join(HERE, name)) for name in ("pyproject.toml", "backend.py")]:
            archive.add(path, f"{base}/{inside}")
    return f"{base}.tar.gz"
