package pull

import (
	"regexp"
	"strings"
	"sync"
)

// The forms of tags. A version number of the right form is assumed to be published.
const (
	kubernetes = `v1\.(\d|[123]\d)\.\d{1,2}(-(alpha|beta|rc)\.\d+)?`
	semver     = `v?\d{1,2}\.\d{1,3}(\.\d{1,3})?([-.][a-z0-9][\w.-]*)?`
	// windowsBase matches releases of Windows and their builds; base images have no tag "latest".
	windowsBase = `(ltsc20(16|19|22|25)|1709|1803|1809|190[39]|1909|2004|20H2|10\.0\.(14393|16299|17134|17763|` +
		`1836[23]|1904[12]|20348|26100)\.\d+)` +
		`(-KB\d+)?(-(amd64|arm64))?`
	// windowsTagged matches tags of Microsoft's images that contain a release.
	windowsTagged = `latest|[\w.-]*(windowsservercore|nanoserver|windows)[\w.-]*`
	// official matches tags of Docker's official images: versions, channels and distributions,
	// optionally followed by a variant.
	official = `latest|(v?\d|latest|stable|oldstable|mainline|edge|rolling|lts|current|slim|alpine|unstable|` +
		`testing|rc|fpm|apache|cli|management|` +
		`bookworm|bullseye|buster|trixie|sid|jammy|focal|noble|bionic|musl|glibc|uclibc|dind|rootless|linux|` +
		`nanoserver|windowsservercore)[\w.-]*`
	// numbered matches tags that contain a digit.
	numbered = `latest|[\w.-]*\d[\w.-]*`
)

// row is a set of repositories whose tags have one form. names may contain several names, separated
// by |.
type row struct{ registry, names, tags string }

// table contains the known repositories: those of Kubernetes, of the addons and templates, Windows'
// base images and Docker's official images. Sources: the projects' release pages and the
// registries' catalogues as of 2026.
var table = []row{
	{"registry.k8s.io", "kube-apiserver|kube-controller-manager|kube-scheduler|kube-proxy|conformance|kubectl", kubernetes},
	{"registry.k8s.io", "pause|etcd", `3\.\d{1,2}(\.\d{1,2})?(-\d+)?(-(linux|windows)[\w.-]*)?`},
	{"registry.k8s.io", "coredns|coredns/coredns", `v?1\.\d{1,2}\.\d{1,2}`},
	{"k8s.gcr.io", "kube-apiserver|kube-controller-manager|kube-scheduler|kube-proxy|kube-proxy-amd64", kubernetes},
	{"k8s.gcr.io", "pause|etcd|coredns|coredns/coredns", semver},
	{"registry.k8s.io",
		"networking/ip-masq-agent|networking/ip-masq-agent-amd64|metrics-server/metrics-server|dns/k8s-dns-node-cache",
		semver},
	{"registry.k8s.io",
		"kube-state-metrics/kube-state-metrics|node-problem-detector/node-problem-detector|descheduler/descheduler",
		semver},
	{"registry.k8s.io", "autoscaling/cluster-autoscaler|autoscaling/vpa-recommender|ingress-nginx/controller|" +
		"ingress-nginx/kube-webhook-certgen", semver},
	{"registry.k8s.io", "node-problem-detector/node-problem-detector-windows", semver},
	{"registry.k8s.io", "sig-storage/csi-provisioner|sig-storage/csi-attacher|sig-storage/csi-resizer|sig-storage/csi-snapshotter", semver},
	{"registry.k8s.io", "sig-storage/csi-node-driver-registrar|sig-storage/livenessprobe|sig-storage/snapshot-controller", semver},
	{"registry.k8s.io",
		"echoserver|nginx-slim|hpa-example|busybox|defaultbackend-amd64|addon-resizer|cluster-autoscaler|debian-base",
		numbered},
	{"registry.k8s.io", "e2e-test-images/agnhost|e2e-test-images/nginx|e2e-test-images/httpd|" +
		"e2e-test-images/busybox|e2e-test-images/nonewprivs", numbered},
	{"registry.k8s.io", "cluster-api/cluster-api-controller|cluster-api/kubeadm-bootstrap-controller|" +
		"cluster-api/kubeadm-control-plane-controller", semver},
	{"registry.k8s.io", "cluster-api-azure/cluster-api-azure-controller", semver},
	{"mcr.microsoft.com", "windows|windows/server|windows/servercore|windows/nanoserver", windowsBase},
	{"mcr.microsoft.com",
		"windows/servercore/iis|windows/servercore/insider|windows/nanoserver/insider|windows/server/insider",
		windowsTagged + "|" + windowsBase},
	{"docker.io", "calico/node|calico/cni|calico/kube-controllers|calico/typha|calico/csi|" +
		"calico/node-driver-registrar|calico/apiserver|calico/ctl", semver},
	{"docker.io", "calico/node-windows|calico/cni-windows|calico/windows|calico/pod2daemon-flexvol|calico/windows-upgrade", semver},
	{"docker.io", "flannel/flannel|flannel/flannel-cni-plugin", semver},
	{"docker.io", "sigwindowstools/kube-proxy|sigwindowstools/calico-node|sigwindowstools/calico-install|sigwindowstools/flannel", semver},
	{"quay.io", "calico/node|calico/cni|calico/kube-controllers|calico/typha|calico/node-windows|" +
		"calico/cni-windows|tigera/operator", semver},
	{"ghcr.io", "kubernetes-sigs/sig-windows/csi-proxy|kubernetes-sigs/sig-windows/eventflow-logger|flannel-io/flannel", semver},
	{"mcr.microsoft.com", "containernetworking/azure-cni|containernetworking/azure-cns|" +
		"containernetworking/cni-dropgz|containernetworking/azure-npm", semver},
	{"ghcr.io", "prometheus-community/windows-exporter", semver},
	{"mcr.microsoft.com", "oss/v2/kubernetes-csi/azuredisk-csi|oss/v2/kubernetes-csi/azurefile-csi", semver},
	{"mcr.microsoft.com", "oss/v2/kubernetes-csi/csi-provisioner|oss/v2/kubernetes-csi/csi-attacher|" +
		"oss/v2/kubernetes-csi/csi-resizer", semver},
	{"mcr.microsoft.com", "oss/v2/kubernetes-csi/csi-node-driver-registrar|oss/v2/kubernetes-csi/livenessprobe", semver},
	{"mcr.microsoft.com", "oss/kubernetes/windows-host-process-containers-base-image", semver},
	{"mcr.microsoft.com", "oss/kubernetes/pause|oss/v2/kubernetes/pause|k8s/core/pause", semver},
	{"mcr.microsoft.com", "oss/kubernetes/azure-cloud-controller-manager|oss/v2/kubernetes/azure-cloud-controller-manager", semver},
	{"mcr.microsoft.com", "oss/kubernetes/azure-cloud-node-manager|oss/v2/kubernetes/azure-cloud-node-manager", semver},
	{"docker.io/library", "adminer|aerospike|almalinux|alpine|alt|amazoncorretto|amazonlinux|api-firewall|arangodb", official},
	{"docker.io/library", "archlinux|backdrop|bash|bonita|buildpack-deps|busybox|caddy|cassandra|centos|chronograf|cirros", official},
	{"docker.io/library", "clearlinux|clefos|clickhouse|clojure|composer|consul|convertigo|couchbase|couchdb|crate|dart", official},
	{"docker.io/library", "debian|docker|drupal|eclipse-mosquitto|eclipse-temurin|eggdrop|elasticsearch|elixir|erlang", official},
	{"docker.io/library", "fedora|flink|fluentd|friendica|gazebo|gcc|geonetwork|ghost|golang|gradle|groovy|haproxy|haskell", official},
	{"docker.io/library", "haxe|hello-world|hitch|httpd|hylang|ibm-semeru-runtimes|ibmjava|influxdb|irssi|jetty|joomla", official},
	{"docker.io/library", "jruby|julia|kapacitor|kibana|kong|krakend|lightstreamer|liquibase|logstash|mageia|mariadb|matomo", official},
	{"docker.io/library", "maven|mediawiki|memcached|mongo|mongo-express|monica|mono|mysql|nats|nats-streaming|neo4j", official},
	{"docker.io/library", "neurodebian|nextcloud|nginx|node|notary|nuxeo|odoo|open-liberty|openjdk|oraclelinux|orientdb", official},
	{"docker.io/library", "percona|perl|photon|php|phpmyadmin|plone|postfixadmin|postgres|pypy|python|r-base|rabbitmq", official},
	{"docker.io/library", "rakudo-star|redis|redmine|registry|rethinkdb|rocket.chat|rockylinux|ros|ruby|rust|sapmachine", official},
	{"docker.io/library", "satosa|silverpeas|solr|sonarqube|spark|spiped|storm|swift|swipl|teamspeak|telegraf|tomcat|tomee", official},
	{"docker.io/library", "traefik|ubuntu|unit|valkey|varnish|vault|websphere-liberty|wordpress|xwiki|yourls|znc|zookeeper", official},
}

// namespaces are the namespaces of which the table contains all repositories in use.
var namespaces = []string{"registry.k8s.io/", "docker.io/library/", "mcr.microsoft.com/windows", "mcr.microsoft.com/containernetworking/"}

// complete reports whether a repository that the table does not contain is known not to exist.
// Sub-namespaces of the listed namespaces are not complete.
func complete(repository string) bool {
	for _, n := range namespaces {
		rest, ok := strings.CutPrefix(repository, n)
		if ok && (!strings.HasSuffix(n, "/") || !strings.Contains(rest, "/")) {
			return true
		}
	}
	return false
}

var index = sync.OnceValue(func() map[string]*regexp.Regexp {
	all := map[string]*regexp.Regexp{}
	for _, r := range table {
		tags := regexp.MustCompile("^(?:" + r.tags + ")$")
		for name := range strings.SplitSeq(r.names, "|") {
			all[r.registry+"/"+name] = tags
		}
	}
	return all
})

// find returns the form of a repository's tags.
func find(repository string) (*regexp.Regexp, bool) {
	tags, ok := index()[repository]
	return tags, ok
}
