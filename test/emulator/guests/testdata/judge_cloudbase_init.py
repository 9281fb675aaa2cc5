"""Runs user data through the real cloudbase-init's UserDataPlugin, and prints what it does.

Reads a list of {"name", "data"} in JSON, data in base64, from standard input, and writes
an object of answers by name. Windows is stubbed: what the plugin writes, runs and creates
is caught, and nothing of this machine is touched. Lines of a script that mark a word, of
either interpreter or of one alone, and "exit CODE" are what it does. PYTHONPATH names where the package and what it imports are.
"""
import base64
import builtins
import io
import json
import logging
import ntpath
import os
import re
import sys

from oslo_config import cfg

from cloudbaseinit import conf as cloudbaseinit_conf

CONF = cloudbaseinit_conf.CONF
CONF([], project="cloudbase-init")
CONF.set_override("netbios_host_name_compatibility", True)

from cloudbaseinit.metadata.services import base as services
from cloudbaseinit.osutils import factory as osutils_factory
from cloudbaseinit.plugins.common import base as plugins
from cloudbaseinit.plugins.common import execcmd
from cloudbaseinit.plugins.common import userdata
from cloudbaseinit.plugins.common.userdataplugins import heat, shellscript
from cloudbaseinit.plugins.common.userdataplugins.cloudconfigplugins import users, write_files
from cloudbaseinit.utils import encoding, hostname

logging.disable(logging.CRITICAL)
HOST = "c1-md-0-abcde"
MOST_REBOOTS = 5
MARKS = {"cmd": re.compile(r"if 1==1 mark (\S+)"), "ps1": re.compile(r"if \(\$true\) { mark (\S+) }")}


class Windows:
    """The state of a machine: files by path in lower case, users, its name."""

    def __init__(self):
        self.files, self.readonly, self.users, self.ran = {}, set(), {"capi": 1}, []
        self.host, self.temp = HOST, {}

    def path(self, name):
        at = ntpath.normpath(ntpath.join("C:\\Windows\\System32", name))
        return at[:1].upper() + at[1:]

    def folder(self, name):
        at = self.path(name).lower()
        return at in ("c:", "c:\\", "c:\\windows\\system32") or any(f.startswith(at + "\\") for f in self.files)

    def open(self, name, mode="r", *a, **k):
        if isinstance(name, int):
            return real_open(name, mode, *a, **k)
        at = self.path(name)
        if "r" in mode:
            data = self.files.get(at.lower(), (at, b""))[1]
            return io.BytesIO(data) if "b" in mode else io.StringIO(data.decode())
        if at.lower() in self.readonly or self.folder(at):
            raise PermissionError(13, "Permission denied", name)
        if re.search(r'[<>"|?*]', at[2:]):
            raise OSError(22, "Invalid argument", name)
        return File(self, at, mode)

    def run(self, path, kind):
        text = self.files.pop(self.path(path).lower())[1].decode("utf-8", "replace")
        code = 0
        for line in re.split(r"\r?\n", text):
            words, only = line.split(), MARKS[kind].match(line)
            if words[:1] == ["mark"]:
                self.ran.append(" ".join(words[1:]).replace('"', ""))
            elif only:
                self.ran.append(only.group(1))
            elif words[:1] == ["exit"]:
                code = int(words[-1])
                break
        return b"", b"", code


class File:
    def __init__(self, windows, at, mode):
        self.windows, self.at, self.text = windows, at, "b" not in mode
        old = windows.files.get(at.lower(), (at, b""))
        windows.files[at.lower()] = (old[0], old[1] if "a" in mode else b"")

    def __enter__(self):
        return self

    def __exit__(self, *a):
        return False

    def write(self, data):
        at, old = self.windows.files[self.at.lower()]
        self.windows.files[self.at.lower()] = (at, old + (data.replace("\n", "\r\n").encode() if self.text else data))

    def flush(self):
        pass

    def close(self):
        pass


class OSUtils:
    def __init__(self, windows):
        self.w = windows

    def get_default_script_exec_header(self):
        return "rem cmd"

    def execute_process(self, args, shell=True, decode_output=False):
        if len(args) > 1:
            raise FileNotFoundError(2, "The system cannot find the file specified")  # python and bash
        return self.w.run(args[0], "cmd")

    def execute_powershell_script(self, path, sysnative=True):
        return self.w.run(path, "ps1")

    def get_maximum_password_length(self):
        return 20

    def generate_random_password(self, length):
        return "x" * 20

    def user_exists(self, name):
        return name.lower() in self.w.users

    def create_user(self, name, password, *a, **k):
        self.w.users[name.lower()] = 1

    def get_user_home(self, name):
        return "C:\\Users\\" + name

    def set_host_name(self, name):
        if not name:
            raise OSError(87, "The parameter is incorrect")
        self.w.host = name
        return True

    def __getattr__(self, name):
        return lambda *a, **k: None


class Service:
    def __init__(self, data):
        self.data = data

    def get_decoded_user_data(self):  # as AzureService, which does not decode
        if not self.data:
            raise services.NotExistingMetadataException()
        return self.data

    def get_instance_data(self):
        ids = {"instance-id": "i-1", "instance_id": "i-1", "local-hostname": HOST, "local_hostname": HOST}
        return {"ds": {"meta_data": dict(ids, hostname=HOST)}, "v1": dict(ids, public_ssh_keys=[]),
                "instance_id": "i-1", "local_hostname": HOST, "public_ssh_keys": []}


real_open = builtins.open


class Paths:
    """os.path as on the stubbed machine."""

    def __init__(self, w):
        self.w = w

    def __getattr__(self, name):
        return getattr(ntpath, name)

    def abspath(self, name):
        if not isinstance(name, (str, bytes)):
            raise TypeError("expected str")
        return self.w.path(name)

    def isdir(self, name):
        return self.w.folder(name)

    def exists(self, name):
        return self.w.path(name).lower() in self.w.files


class OS:
    linesep = "\r\n"

    def __init__(self, w):
        self.w, self.path = w, Paths(w)

    def __getattr__(self, name):
        return getattr(os, name)

    def makedirs(self, name, *a, **k):
        at = self.w.path(name).lower()
        while len(at) > 3:
            if at in self.w.files:
                raise FileExistsError(17, "File exists", name)
            at = ntpath.dirname(at)

    def chmod(self, name, mode):
        at = self.w.path(name).lower()
        (self.w.readonly.discard if mode & 0o200 else self.w.readonly.add)(at)

    def remove(self, name):
        self.w.files.pop(self.w.path(name).lower(), None)

    unlink = remove


def answer(data):
    w = Windows()
    stub = OS(w)
    from cloudbaseinit.plugins.common.userdataplugins.cloudconfigplugins import runcmd
    for module in (execcmd, write_files, users, runcmd, shellscript, heat):
        module.os, module.open = stub, w.open
    temp = type("T", (), {"gettempdir": staticmethod(lambda: "C:\\Windows\\Temp")})
    execcmd.tempfile = shellscript.tempfile = temp
    userdata.userdatautils.os, userdata.userdatautils.open = stub, w.open
    encoding.open = w.open
    osutils_factory.get_os_utils = lambda: OSUtils(w)
    hostname.platform = type("P", (), {"node": staticmethod(lambda: w.host)})
    failed = False
    for _ in range(MOST_REBOOTS + 1):
        try:
            status, reboot = userdata.UserDataPlugin().execute(Service(data), {})
        except Exception:
            failed = True
            break
        if not reboot or status == plugins.PLUGIN_EXECUTION_DONE:
            break
    files = {at: {"content": base64.b64encode(data).decode(), "readonly": key in w.readonly}
             for key, (at, data) in w.files.items() if "\\windows\\temp\\" not in key}
    return {"files": files, "ran": w.ran, "users": sorted(w.users), "failed": failed}


inputs = json.load(sys.stdin)
out = {item["name"]: answer(base64.b64decode(item["data"])) for item in inputs}
json.dump(out, sys.stdout, indent=1, sort_keys=True)
