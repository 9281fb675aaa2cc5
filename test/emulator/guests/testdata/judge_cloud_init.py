"""Runs user data through the real cloud-init's Python, and prints what it would do.

Reads a list of {"name", "data"} in JSON, data in base64, from standard input, and writes
the list with an "answer" each. Nothing of the machine is touched: what cloud-init writes,
owns and runs is caught. PYTHONPATH names where the package is unpacked.
"""
import base64
import json
import logging
import os
import shutil
import sys
import tempfile
import types

from cloudinit import handlers, helpers, user_data, util
from cloudinit.config import cc_runcmd, cc_write_files
from cloudinit.distros import ug_util
from cloudinit.handlers.boot_hook import BootHookPartHandler
from cloudinit.handlers.cloud_config import CloudConfigPartHandler
from cloudinit.handlers.jinja_template import JinjaTemplatePartHandler
from cloudinit.handlers.shell_script import ShellScriptPartHandler

logging.disable(logging.CRITICAL)
HOST = "c1-md-0-abcde"
USERS = ["root", "daemon", "nobody", "www-data", "syslog"]
GROUPS = ["root", "daemon", "nogroup", "www-data", "syslog", "adm", "sudo", "docker", "users"]
INSTANCE = {
    "ds": {"meta_data": {"local_hostname": HOST, "instance_id": "i-1"}},
    "v1": {"local_hostname": HOST, "instance_id": "i-1", "cloud_name": "azure", "platform": "azure", "distro": "ubuntu"},
    "local_hostname": HOST, "instance_id": "i-1", "cloud_name": "azure", "platform": "azure", "distro": "ubuntu",
}


def answer(data):
    root = tempfile.mkdtemp()
    try:
        return inside(root, data)
    finally:
        shutil.rmtree(root)


def inside(root, data):
    paths = helpers.Paths({"cloud_dir": root + "/lib", "run_dir": root + "/run"})
    paths.datasource = types.SimpleNamespace(get_instance_id=lambda: "i-1")
    for d in ("instances/i-1/scripts", "instances/i-1/boothooks", "instances/i-1/handlers"):
        os.makedirs(root + "/lib/" + d)
    os.symlink(root + "/lib/instances/i-1", root + "/lib/instance")
    os.makedirs(root + "/run")
    with open(root + "/run/instance-data-sensitive.json", "w") as f:
        json.dump(INSTANCE, f)
    out = {"files": {}, "scripts": {}, "failed": []}
    hooks = []
    boot = BootHookPartHandler(paths=paths, datasource=None)
    boot.handle_part = lambda data, ctype, filename, payload, frequency: ctype in handlers.CONTENT_SIGNALS or hooks.append(filename)
    config = CloudConfigPartHandler(paths=paths, datasource=None)
    script = ShellScriptPartHandler(paths=paths, datasource=None)
    known = helpers.ContentHandlers()
    for h in (config, script, boot, JinjaTemplatePartHandler(paths=paths, sub_handlers=[config, script])):
        known.register(h, overwrite=False)
    try:
        message = user_data.UserDataProcessor(paths).process(data)
        for mod in (config, script):
            mod.handle_part(None, handlers.CONTENT_START, None, None, None, None) if mod is config else None
        handlers.walk(message, handlers.walker_callback, data={
            "handlers": known, "handlerdir": root + "/lib/instance/handlers", "data": None, "frequency": "once-per-instance", "handlercount": 0, "excluded": []})
        config.handle_part(None, handlers.CONTENT_END, None, None, None, None)
    except Exception as e:
        out["failed"].append("user data")
    cfg = util.load_yaml(util.load_file(paths.get_ipath("cloud_config")) if os.path.exists(paths.get_ipath("cloud_config")) else "", {}) or {}
    modules(root, paths, cfg, out)
    for name in sorted(os.listdir(root + "/lib/instance/scripts")):
        with open(root + "/lib/instance/scripts/" + name, "rb") as f:
            out["scripts"][name] = f.read().decode("utf-8", "backslashreplace")
    out["boothooks"] = len(hooks)
    return out


def modules(root, paths, cfg, out):
    real_write = util.write_file

    def write(path, content, mode=0o644, omode="wb", *a, **k):
        if path.startswith(root):
            return real_write(path, content, mode, omode)
        content = content if isinstance(content, bytes) else str(content).encode()
        before = base64.b64decode(out["files"][path]["content"]) if "a" in omode and path in out["files"] else b""
        out["files"][path] = {"mode": mode & 0o777, "content": base64.b64encode(before + content).decode()}

    def own(path, user=None, group=None):
        for name, all_names in ((user, USERS), (group, GROUPS)):
            if name not in (None, "-1", "None") and name not in all_names:
                raise OSError("Unknown user or group: %s" % name)

    cloud = types.SimpleNamespace(get_ipath=paths.get_ipath, distro=types.SimpleNamespace(default_owner="root:root", get_option=lambda *a: None, get_default_user=lambda: {"name": "capi"}))
    log = logging.getLogger()
    util.write_file, util.chownbyname = write, own
    try:
        for name, run in (("write_files", cc_write_files.handle), ("runcmd", cc_runcmd.handle)):
            try:
                run(name, cfg, cloud, log, [])
            except Exception:
                out["failed"].append(name)
        try:
            deferred = [f for f in cfg.get("write_files", []) or [] if util.get_cfg_option_bool(f, "defer", False)]
            cc_write_files.write_files("write_files_deferred", deferred, "root:root")
        except Exception:
            if "write_files" not in out["failed"]:
                out["failed"].append("write_files")
        try:
            users, _ = ug_util.normalize_users_groups(cfg, cloud.distro)
            out["users"] = sorted(users)
        except Exception:
            out["failed"].append("users")
            out["users"] = []
    finally:
        util.write_file = real_write


os.chdir("/")
inputs = json.load(sys.stdin)
for item in inputs:
    item["answer"] = answer(base64.b64decode(item["data"]))
json.dump(inputs, sys.stdout, indent=1, sort_keys=True)
