package controlplane

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"

	"casement.dev/casement/internal/kubechange"
)

// TestKubeletLimits: the kubelet's own validation refuses and accepts the same values as kubechange.Limits.
// containerLogMaxSize is read later.
func TestKubeletLimits(t *testing.T) {
	_, codecs, err := scheme.NewSchemeAndCodecs()
	if err != nil {
		t.Fatal(err)
	}
	refused := func(path, value string) error {
		text := "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfailCgroupV1: false\n" +
			"containerRuntimeEndpoint: unix:///x\n"
		if first, rest, nested := strings.Cut(path, "."); nested {
			text += first + ": {" + rest + ": " + value + "}\n"
		} else {
			text += path + ": " + value + "\n"
		}
		o, err := runtime.Decode(codecs.UniversalDecoder(kubeletconfig.SchemeGroupVersion), []byte(text))
		if err != nil {
			return err
		}
		return validation.ValidateKubeletConfiguration(o.(*kubeletconfig.KubeletConfiguration), utilfeature.DefaultFeatureGate)
	}
	tried := 0
	for _, l := range kubechange.Limits() {
		for _, value := range []string{
			"-2000", "-2", "-1", "0", "1", "2", "14", "31", "32", "100", "101", "1000", "1001", "65535", "65536", "1us", "1ms", "3s", "1s", "5m",
			"301s", "none", "best-effort", "pod", "container", "hairpin-veth", "NoSwap", "UnlimitedSwap", "AlwaysVerify", "true", "false", "x",
		} {
			err := refused(l.Path, value)
			if err != nil && (strings.Contains(err.Error(), "cannot unmarshal") || strings.Contains(err.Error(), "must be less than")) {
				continue // a value of another type, or smaller than another setting, which lint reports as well
			}
			if fits := l.Fits(value); l.Path != "containerLogMaxSize" && fits != (err == nil) {
				t.Errorf("%s: %s: fits %t, and the kubelet says %v", l.Path, value, fits, err)
			}
			tried++
		}
	}
	if tried < 300 {
		t.Errorf("%d values were tried", tried)
	}
}
