package windows

import (
	"regexp"
	"slices"
	"strings"
)

// IsWindowsImage reports whether a container image is known to be only for Windows, of any release.
func IsWindowsImage(reference string) bool {
	repository, tag := splitImage(reference)
	if _, ok := ImageRelease(reference); ok {
		return true
	}
	return isWindowsRepository(repository) || slices.ContainsFunc(tagTokens(tag), windowsToken.MatchString)
}

// IsLinuxImage reports whether a container image is known to have no Windows platform.
func IsLinuxImage(reference string) bool {
	if IsWindowsImage(reference) {
		return false
	}
	repository, tag := splitImage(reference)
	return linuxRepository.MatchString(repository) || linuxTag.MatchString(tag)
}

// tagTokens returns the words of a tag.
func tagTokens(tag string) []string {
	return strings.FieldsFunc(tag, func(r rune) bool { return r == '-' || r == '_' })
}

// windowsToken matches a word that only tags of Windows images have.
var windowsToken = regexp.MustCompile(`^(windows(20\d\d)?|nanoserver|windowsservercore|servercore)$`)

// formerImages matches Microsoft's images on Docker Hub, from before mcr.microsoft.com: all have builds older than
// Windows Server 2019.
const formerImages = `(docker\.io/)?microsoft/(windows|windowsservercore|nanoserver|iis|aspnet|wcf|dotnet-framework|mssql-server-windows)`

var formerImage = regexp.MustCompile("^" + formerImages)

// IsFormerImage reports whether a container image is one that Microsoft no longer updates on Docker Hub; no supported
// node can run it. Source:
// https://learn.microsoft.com/virtualization/windowscontainers/manage-containers/container-base-images.
func IsFormerImage(reference string) bool {
	repository, _ := splitImage(reference)
	return formerImage.MatchString(repository)
}

// windowsRepository matches repositories whose images are all for Windows. Source: their manifests.
var windowsRepository = regexp.MustCompile(`^(` +
	`mcr\.microsoft\.com/windows.*|mcr\.microsoft\.com/dotnet/framework/.*|` +
	`mcr\.microsoft\.com/oss(/v2)?/kubernetes/windows-host-process-containers-base-image|` +
	formerImages + `.*|` +
	`((docker|quay)\.io/)?calico/(windows|node-windows|cni-windows|windows-upgrade)|(docker\.io/)?sigwindowstools/.*|` +
	`ghcr\.io/kubernetes-sigs/sig-windows/.*|ghcr\.io/prometheus-community/windows-exporter|` +
	`registry\.k8s\.io/node-problem-detector/node-problem-detector-windows)$`)

// isWindowsRepository reports whether a repository has Windows images, or a name like one that has.
func isWindowsRepository(repository string) bool {
	return windowsRepository.MatchString(repository) ||
		slices.ContainsFunc(strings.FieldsFunc(repository, func(r rune) bool { return r == '/' || r == '-' }), func(s string) bool {
			return s == "nanoserver" || s == "windowsservercore" || s == "servercore"
		})
}

// linuxRepository matches Kubernetes' own programs, Docker Hub's official images and other common images that support
// Windows only in tags that contain its name. Source: their manifests, hub.docker.com.
var linuxRepository = regexp.MustCompile(`^(` +
	`(registry\.k8s\.io|k8s\.gcr\.io)/(kube-(apiserver|controller-manager|scheduler|proxy)|coredns(/coredns)?|pause-amd64|pause-arm64)|` +
	`registry\.k8s\.io/(ingress-nginx|metrics-server)/.*|gcr\.io/distroless/.*|` +
	`((docker|quay)\.io/)?calico/(node|cni|typha|kube-controllers)|` +
	`(docker\.io/)?(library/)?(adminer|almalinux|alpine|amazonlinux|archlinux|bash|busybox|cassandra|centos|clickhouse|composer|couchdb|` +
	`debian|drupal|eclipse-mosquitto|elasticsearch|erlang|fedora|gcc|ghost|haproxy|httpd|jetty|joomla|kibana|kong|logstash|mariadb|` +
	`memcached|mysql|neo4j|nextcloud|nginx|node|oraclelinux|percona|perl|php|phpmyadmin|postgres|rabbitmq|redis|rockylinux|ruby|rust|` +
	`solr|tomcat|ubuntu|valkey|varnish|wordpress|zookeeper)|` +
	`(docker\.io/)?(bitnami/[a-z0-9-]+|grafana/(grafana|loki)|prom/(prometheus|alertmanager|node-exporter)|curlimages/curl|` +
	`nginxinc/nginx-unprivileged))$`)

// linuxTag matches tags that contain Linux or the name of one of its distributions.
var linuxTag = regexp.MustCompile(`(^|[-._])(alpine|slim|bookworm|bullseye|jammy|noble)([-.0-9]|$)|(^|-)linux(-|$)`)
