"""wheels.py - what is needed of published wheels: downloads them with pip, checks them, keeps the members named in a wheels.list, builds drivers.

A version is in the cache as SYSTEM-VERSION/ with a file `ready` that holds its lines of wheels.list; other lines: it is fetched again.
A wheel lies in the cache only while it is being unpacked.  What cannot be had raises Unavailable, which a check reports as skipped;
a wheel with another checksum is an error.
"""
import fnmatch
import glob
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile

COMMON = os.path.dirname(os.path.abspath(__file__))


class Unavailable(Exception):
    """This version cannot be run here; the text says why."""


class Failure(Exception):
    """Something is wrong with the oracle itself."""


def cache_folder():
    return os.environ.get('GEMEM_ORACLE_CACHE') or os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'gemem-oracle')


def work_folder():
    """Where drivers are built and what is found is kept."""
    return os.environ.get('GEMEM_ORACLE_WORK') or os.path.join(os.environ.get('GEMEM_BUILDDIR', '.'), 'tests', 'oracle')


class Version:
    """One version of one system: its lines of wheels.list, where its parts are."""

    def __init__(self, system, name):
        self.system, self.name, self.lines = system, name, []
        self.label = '%s-%s' % (os.path.basename(system), name)
        self.folder = os.path.join(cache_folder(), self.label)
        self.driver = os.path.join(work_folder(), 'built', self.label, 'driver')

    def is_fetched(self):
        if all(line[1] == '-' for line in self.lines):
            return True
        try:
            with open(os.path.join(self.folder, 'ready')) as f:
                return f.read() in ('', self.text())
        except OSError:
            return False

    def text(self):
        return ''.join(' '.join(line) + '\n' for line in self.lines)


def systems(folder=None):
    """Name to folder of all systems: the folders with a wheels.list."""
    found = glob.glob(os.path.join(folder or os.environ.get('GEMEM_ORACLE_SYSTEMS') or COMMON, '*', 'wheels.list'))
    return {os.path.basename(os.path.dirname(path)): os.path.dirname(path) for path in sorted(found)}


def versions(system):
    """The versions of a system, in the order of its wheels.list."""
    found = {}
    path = os.path.join(system, 'wheels.list')
    with open(path) as f:
        for number, text in enumerate(f, 1):
            line = text.split('#')[0].split()
            if not line:
                continue
            if len(line) < 6 and line[1:] != ['-']:
                raise Failure('%s:%d: not VERSION REQUIREMENT PYTHON PLATFORM SHA256 MEMBER..., and not VERSION -' % (path, number))
            found.setdefault(line[0], Version(system, line[0])).lines.append(line)
    return list(found.values())


def checksum(path):
    digest = hashlib.sha256()
    with open(path, 'rb') as f:
        for chunk in iter(lambda: f.read(1 << 20), b''):
            digest.update(chunk)
    return digest.hexdigest()


def download(line, folder):
    """Downloads the wheel of a line of wheels.list; returns its path."""
    requirement, python, tag = line[1:4]
    command = [sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', '--python-version', python,
               '--platform', tag, '--dest', folder, requirement]
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1800)
    except subprocess.TimeoutExpired as error:
        raise Unavailable('%s was not downloaded in 30 minutes' % requirement) from error
    found = glob.glob(os.path.join(folder, '*.whl'))
    if result.returncode or len(found) != 1:
        errors = [text for text in result.stderr.splitlines() if 'ERROR' in text] or result.stderr.splitlines()[-1:] or ['no wheel came']
        raise Unavailable('%s cannot be downloaded: %s' % (requirement, errors[0][:200]))
    return found[0]


def unpack(path, patterns, folder):
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        for pattern in patterns:
            members = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
            if not members:
                raise Failure('%s has no member %s' % (os.path.basename(path), pattern))
            wheel.extractall(folder, members)


def fetch(version):
    """Makes sure that the version is in the cache."""
    if version.is_fetched():
        return
    if os.environ.get('GEMEM_ORACLE_OFFLINE'):
        raise Unavailable('not in the cache, and GEMEM_ORACLE_OFFLINE is set')
    if (sys.platform, platform.machine()) != ('linux', 'x86_64'):
        raise Unavailable('the wheels are for Linux on x86_64')
    if subprocess.run([sys.executable, '-m', 'pip', '--version'], capture_output=True).returncode:
        raise Unavailable('pip is not here (Debian: python3-pip)')
    os.makedirs(cache_folder(), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder()) as work:
        for line in version.lines:
            path = download(line, work)
            if checksum(path) != line[4]:
                raise Failure('%s: the checksum is not that of wheels.list: %s' % (os.path.basename(path), checksum(path)))
            unpack(path, line[5:], os.path.join(work, 'whole'))
            os.unlink(path)
        with open(os.path.join(work, 'whole', 'ready'), 'w') as f:
            f.write(version.text())
        shutil.rmtree(version.folder, ignore_errors=True)
        os.rename(os.path.join(work, 'whole'), version.folder)


def cuda_include():
    """The folder of the CUDA headers, or an empty string."""
    places = [os.environ.get('CUDA_INCLUDE'), *[os.path.join(os.environ[name], 'include') for name in ('CUDA_HOME', 'CUDA_PATH') if name in os.environ],
              '/usr/local/cuda/include', '/usr/include', *sorted(glob.glob('/usr/local/cuda-*/include'), reverse=True)]
    return next((place for place in places if place and os.path.exists(os.path.join(place, 'cuda_runtime_api.h'))), '')


def newest(*folders):
    return max((os.path.getmtime(path) for folder in folders for path in glob.glob(os.path.join(folder, '*')) if os.path.isfile(path) and not path.endswith('.py')), default=0)


def build(version):
    """Makes sure that the driver is built and newer than what it is made of; returns its path."""
    sources = newest(COMMON, os.path.join(COMMON, 'cuda'), version.system)
    if os.path.exists(version.driver) and os.path.getmtime(version.driver) > sources:
        return version.driver
    compiler = os.environ.get('CXX') or 'c++'
    os.makedirs(os.path.dirname(version.driver), exist_ok=True)
    environment = dict(os.environ, ORACLE_VERSION=version.name, ORACLE_WHEELS=version.folder, ORACLE_DRIVER=os.path.abspath(version.driver), ORACLE_COMMON=COMMON,
                       ORACLE_SYSTEM=os.path.abspath(version.system), CUDA_INCLUDE=cuda_include(), CXX=compiler, CC=os.environ.get('CC') or 'cc')
    if os.path.exists(os.path.join(version.system, 'driver.cpp')) and shutil.which(compiler.split()[0]) is None:
        raise Unavailable('there is no C++ compiler %s' % compiler)
    result = subprocess.run(['sh', os.path.join(version.system, 'build.sh')], env=environment, capture_output=True, text=True)
    if result.returncode == 77:
        raise Unavailable(result.stderr.strip() or 'cannot be built here')
    if result.returncode:
        raise Failure('%s: build.sh failed:\n%s' % (version.label, result.stderr[-3000:]))
    return version.driver
