package rules

import (
	"fmt"
	"strings"
	"testing"

	"casement.dev/casement/internal/lint"
)

// many returns manifests of 10,000 objects: Windows Deployments with their Service, ConfigMap and claim, each in one of
// ten namespaces.
func many() []byte {
	var out strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&out, `apiVersion: apps/v1
kind: Deployment
metadata: {name: app-%[1]d, namespace: team-%[2]d}
spec:
  replicas: 2
  selector: {matchLabels: {app: app-%[1]d}}
  template:
    metadata: {labels: {app: app-%[1]d}}
    spec:
      os: {name: windows}
      nodeSelector: {kubernetes.io/os: windows}
      containers:
      - name: app
        image: mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022
        envFrom: [{configMapRef: {name: settings-%[1]d}}]
        resources: {limits: {cpu: 1, memory: 800Mi}}
        volumeMounts: [{name: data, mountPath: 'C:/data'}, {name: settings, mountPath: 'C:/settings'}]
      volumes:
      - name: data
        persistentVolumeClaim: {claimName: data-%[1]d}
      - name: settings
        configMap: {name: settings-%[1]d}
---
apiVersion: v1
kind: Service
metadata: {name: app-%[1]d, namespace: team-%[2]d}
spec:
  selector: {app: app-%[1]d}
  ports: [{port: 80}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings-%[1]d, namespace: team-%[2]d}
data: {mode: fast}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-%[1]d, namespace: team-%[2]d}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
---
`, i, i%10)
	}
	return []byte(out.String())
}

// BenchmarkRun runs all rules over 10,000 parsed objects.
func BenchmarkRun(b *testing.B) {
	set, errs := lint.Parse("many", many(), lint.Options{})
	if len(errs) > 0 || len(set.Objects) != 10000 {
		b.Fatal(len(set.Objects), errs)
	}
	all := All()
	for b.Loop() {
		lint.Run(set, all, lint.Target{})
	}
}

// BenchmarkPod does the work of the admission webhook for one pod.
func BenchmarkPod(b *testing.B) {
	all, data := All(), []byte(windowsPod+container)
	for b.Loop() {
		set, _ := lint.Parse("Pod", data, lint.Options{})
		lint.Run(set, all, lint.Target{})
	}
}
