#!/bin/sh
# Functions that the scripts of an image build share, for sh. Each may run twice: what is as it
# should be stays. They need root.
set -eu
export DEBIAN_FRONTEND=noninteractive

# fail prints why and ends the script.
fail() {
  echo "FAILED: $*"
  exit 1
}

# run runs a program, whose output is shown where it fails.
run() {
  if ! said=$("$@" 2>&1); then
    fail "$1 did not succeed: $(echo "$said" | tail -n 3 | tr '\n' ' ')"
  fi
}

# packages runs apt-get, which waits for one that the image itself has started.
packages() {
  run apt-get -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 -y "$@"
}

# add_trust adds a certificate to those that programs of the machine trust: its name, its PEM.
add_trust() {
  mkdir -p /usr/local/share/ca-certificates
  printf '%s\n' "$2" > "/usr/local/share/ca-certificates/$1.crt"
  run update-ca-certificates
}

# set_build_proxy sets the proxy of HTTP, of HTTPS and what goes without, for logins, apt and
# containerd.
set_build_proxy() {
  lines=''
  for pair in "http_proxy=$1" "https_proxy=$2" "no_proxy=$3"; do
    name=${pair%%=*}
    value=${pair#*=}
    if [ -n "$value" ]; then
      upper=$(echo "$name" | tr '[:lower:]' '[:upper:]')
      lines="$lines$name=$value
$upper=$value
"
    fi
  done
  touch /etc/environment
  grep -v -i -E '^(http|https|no)_proxy=' /etc/environment > /etc/environment.casement || true
  printf '%s' "$lines" >> /etc/environment.casement
  mv /etc/environment.casement /etc/environment
  mkdir -p /etc/systemd/system/containerd.service.d /etc/apt/apt.conf.d
  {
    echo '[Service]'
    printf '%s' "$lines" | sed 's/^/Environment=/'
  } > /etc/systemd/system/containerd.service.d/proxy.conf
  : > /etc/apt/apt.conf.d/90proxy
  if [ -n "$1" ]; then echo "Acquire::http::Proxy \"$1\";" >> /etc/apt/apt.conf.d/90proxy; fi
  if [ -n "$2" ]; then echo "Acquire::https::Proxy \"$2\";" >> /etc/apt/apt.conf.d/90proxy; fi
}

# with_proxy gives the programs of this script the proxy of the machine.
with_proxy() {
  if [ -f /etc/environment ]; then
    for line in $(grep -i -E '^(http|https|no)_proxy=' /etc/environment || true); do
      export "${line?}"
    done
  fi
}

# install_updates installs what the archive has that is newer: security or all. It asks for a
# restart where a package needs one, and runs again after that.
install_updates() {
  with_proxy
  packages update
  if [ "$1" = security ]; then
    if ! command -v unattended-upgrade > /dev/null 2>&1; then packages install unattended-upgrades; fi
    run unattended-upgrade
  else
    packages dist-upgrade
  fi
  if [ -f /var/run/reboot-required ]; then exit 194; fi
}

# initialize_node makes the folders of a node, lets the kernel forward, ends swap, and installs the
# programs that kubeadm's preflight and kube-proxy look for.
initialize_node() {
  with_proxy
  mkdir -p /etc/kubernetes/manifests /etc/cni/net.d /opt/cni/bin /var/lib/kubelet /etc/containerd \
    /etc/systemd/system/kubelet.service.d /etc/modules-load.d /etc/sysctl.d
  printf 'overlay\nbr_netfilter\n' > /etc/modules-load.d/kubernetes.conf
  cat > /etc/sysctl.d/90-kubernetes.conf << 'END'
net.bridge.bridge-nf-call-iptables = 1
net.bridge.bridge-nf-call-ip6tables = 1
net.ipv4.ip_forward = 1
END
  run modprobe overlay
  run modprobe br_netfilter
  run sysctl --system
  run swapoff -a
  if [ -f /etc/fstab ]; then sed -i '/[[:space:]]swap[[:space:]]/d' /etc/fstab; fi
  missing=''
  for program in conntrack socat ebtables ethtool ipset iptables; do
    if ! command -v "$program" > /dev/null 2>&1; then missing="$missing $program"; fi
  done
  if [ -n "$missing" ]; then
    packages update
    # shellcheck disable=SC2086 # names without blanks
    packages install --no-install-recommends $missing
  fi
}

# get_verified downloads an address to a file, unless it is there, and fails where its SHA-256 is
# another.
get_verified() {
  if [ -f "$3" ]; then
    if [ "$(sha256sum "$3" | cut -d ' ' -f 1)" = "$2" ]; then return 0; fi
    rm -f "$3"
  fi
  if ! said=$(curl -fsSL --retry 3 --retry-delay 5 -o "$3" "$1" 2>&1); then
    fail "download of $1 failed: $said"
  fi
  found=$(sha256sum "$3" | cut -d ' ' -f 1)
  if [ "$found" != "$2" ]; then
    rm -f "$3"
    fail "the SHA-256 of $1 is $found, not $2"
  fi
}

# install_component downloads a component and puts it in its place: address, SHA-256, path, and
# how, file or tar.
install_component() {
  with_proxy
  mkdir -p /var/cache/casement
  file="/var/cache/casement/${1##*/}"
  get_verified "$1" "$2" "$file"
  if [ "$4" = tar ]; then
    mkdir -p "$3"
    run tar -xzf "$file" -C "$3"
  else
    mkdir -p "$(dirname "$3")"
    cp -f "$file" "$3"
    chmod 0755 "$3"
  fi
  rm -f "$file"
}

# start_unit makes systemd read its units again, and enables and starts one.
start_unit() {
  run systemctl daemon-reload
  run systemctl enable --now "$1"
}

# register_containerd makes containerd a unit, with systemd's cgroups and logs that rotate.
# Source: https://kubernetes.io/docs/setup/production-environment/container-runtimes/.
register_containerd() {
  mkdir -p /etc/containerd
  cat > /etc/containerd/config.toml << 'END'
version = 2
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/opt/cni/bin"
  conf_dir = "/etc/cni/net.d"
END
  cat > /etc/systemd/system/containerd.service << 'END'
[Unit]
Description=containerd
After=network.target local-fs.target
[Service]
ExecStartPre=-/sbin/modprobe overlay
ExecStart=/usr/local/bin/containerd
Type=notify
Delegate=yes
KillMode=process
Restart=always
RestartSec=5
LimitNOFILE=1048576
TasksMax=infinity
OOMScoreAdjust=-999
[Install]
WantedBy=multi-user.target
END
  start_unit containerd
}

# get_container_image pulls an image in advance.
get_container_image() {
  with_proxy
  run /usr/local/bin/ctr -n k8s.io images pull "$1"
}

# register_kubelet makes kubelet a unit with the flags that kubeadm writes. It is enabled and waits
# for kubeadm.
# Source: https://github.com/kubernetes/release, cmd/krel/templates/latest.
register_kubelet() {
  mkdir -p /etc/systemd/system/kubelet.service.d
  cat > /etc/systemd/system/kubelet.service << 'END'
[Unit]
Description=kubelet
Wants=network-online.target
After=network-online.target containerd.service
[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10
[Install]
WantedBy=multi-user.target
END
  cat > /etc/systemd/system/kubelet.service.d/10-kubeadm.conf << 'END'
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
END
  run systemctl daemon-reload
  run systemctl enable kubelet
}

# set_journal bounds what the journal keeps of kubelet and containerd.
set_journal() {
  mkdir -p /etc/systemd/journald.conf.d
  cat > /etc/systemd/journald.conf.d/90-casement.conf << 'END'
[Journal]
SystemMaxUse=1G
SystemMaxFileSize=100M
END
}

# set_service_start sets whether a unit starts with the machine: Automatic or Disabled.
set_service_start() {
  if [ "$2" = Automatic ]; then
    run systemctl enable --now "$1"
  else
    run systemctl disable --now "$1"
  fi
}

# test_node checks units and files, and prints a line "holds PROGRAM VERSION" for each program.
test_node() {
  for unit in containerd kubelet; do
    if ! systemctl is-enabled --quiet "$unit"; then fail "the unit $unit does not start with the machine"; fi
  done
  if ! systemctl is-active --quiet containerd; then fail 'the unit containerd is not active'; fi
  for file in /usr/bin/kubelet /usr/bin/kubeadm /usr/bin/kubectl /usr/local/bin/containerd \
    /usr/local/sbin/runc /opt/cni/bin/host-local /etc/systemd/system/kubelet.service.d/10-kubeadm.conf \
    /etc/systemd/journald.conf.d/90-casement.conf; do
    if [ ! -f "$file" ]; then fail "$file is missing"; fi
  done
  if ! command -v cloud-init > /dev/null 2>&1; then fail 'cloud-init is missing'; fi
  echo "holds kubelet $(kubelet --version | cut -d ' ' -f 2)"
  echo "holds kubeadm $(kubeadm version -o short)"
  echo "holds kubectl $(kubectl version --client | head -n 1 | cut -d ' ' -f 3)"
  echo "holds containerd $(containerd --version | cut -d ' ' -f 3)"
  echo "holds runc $(runc --version | head -n 1 | cut -d ' ' -f 3)"
  echo "holds ubuntu $(. /etc/os-release && echo "$VERSION_ID")"
}

# invoke_deprovision takes from the machine what is its own: keys, the account, the state of
# cloud-init.
# Source: https://learn.microsoft.com/azure/virtual-machines/generalize.
invoke_deprovision() {
  rm -rf /var/cache/casement
  run cloud-init clean --logs
  if ! command -v waagent > /dev/null 2>&1; then fail 'waagent is missing: Azure makes no machine of this one'; fi
  run waagent -deprovision+user -force
  sync
}
