"""Debian 12 pairs azure-cli 2.45.0 with a python3-azure that lacks two API
versions of its default profile, has lost the operations of every version of
azure.mgmt.network, and has another form of azure.mgmt.authorization than az
expects. This makes the packages fit again. Of what az sends it changes only two
api-versions, to those that are there."""
import importlib.abc
import importlib.util
import sys

NETWORK = "azure.mgmt.network.v"


class Operations(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The operations of all versions of the network client are one package."""

    def find_spec(self, name, path, target=None):
        if name.startswith(NETWORK) and name.endswith(".operations"):
            return importlib.util.spec_from_loader(name, self)
        return None

    def create_module(self, spec):
        return importlib.import_module("azure.mgmt.network.operations")

    def exec_module(self, module):
        pass


def versions():
    from azure.cli.core.profiles import ResourceType, _shared
    latest = _shared.AZURE_API_PROFILES["latest"]
    latest[ResourceType.MGMT_NETWORK] = "2022-07-01"
    compute = latest[ResourceType.MGMT_COMPUTE]
    missing = {k: "2022-08-01" for k, v in compute.profile.items() if v == "2022-11-01"}
    compute.profile.update(missing)
    compute.profile[None] = "2022-08-01"


def roles():
    for version in ("v2018_01_01_preview", "v2022_04_01"):
        module = importlib.import_module("azure.mgmt.authorization." + version + ".operations")
        module.RoleDefinitionsOperations.config = property(lambda self: self._config)


sys.meta_path.append(Operations())
try:
    versions()
    if "role" in getattr(sys, "argv", []):
        roles()
except ImportError:
    pass  # not az, or another packaging of it
