package explain

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestLeaving: a drain waits for the pods that existed at its beginning, except pods that stay, and not for new pods.
func TestLeaving(t *testing.T) {
	pod := func(uid string, change func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: uid, UID: types.UID(uid)}}
		if change != nil {
			change(&p)
		}
		return p
	}
	begun := []corev1.Pod{pod("a", nil), pod("gone", nil), pod("set", func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: new(true)}}
	}), pod("file", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }),
		pod("ended", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })}
	now := append(slices.DeleteFunc(slices.Clone(begun), func(p corev1.Pod) bool { return p.Name == "gone" }), pod("came", nil))
	if got := leaving(begun, now); len(got) != 1 || got[0].Name != "a" {
		t.Errorf("it waits for %v", got)
	}
}
