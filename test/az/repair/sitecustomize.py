# Debian 12 pairs azure-cli 2.45.0 with a python3-azure that lacks two API
# versions of its default profile and lost the operations package of every
# version of azure.mgmt.network. This makes the two fit again, and changes
# nothing of what az sends but the api-version.
import importlib.abc
import importlib.util
import sys

NETWORK = "azure.mgmt.network.v"


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.startswith(NETWORK) and name.endswith(".operations"):
            return importlib.util.spec_from_loader(name, self)
        return None

    def create_module(self, spec):
        return importlib.import_module("azure.mgmt.network.operations")

    def exec_module(self, module):
        pass


sys.meta_path.append(Finder())


def repair():
    from azure.cli.core.profiles import ResourceType, _shared
    latest = _shared.AZURE_API_PROFILES["latest"]
    latest[ResourceType.MGMT_NETWORK] = "2022-07-01"
    for name, version in (("MGMT_COMPUTE", "2022-08-01"),):
        kind = getattr(ResourceType, name)
        value = latest[kind]
        if hasattr(value, "default_api_version"):
            value.default_api_version = version
        else:
            latest[kind] = version


if sys.argv and sys.argv[0].endswith("az") or True:
    try:
        repair()
    except ImportError:
        pass
