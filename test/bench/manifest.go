package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// manifests writes n random documents from a fixed seed: half of the pods are for Windows, and one
// Windows pod in ten has a finding; Kubernetes accepts all documents. Every eighth application has
// a file for each of its documents, the others share files.
func manifests(dir string, n int) error {
	random := rand.New(rand.NewPCG(36, 2022))
	var shared []string
	files := 0
	write := func(documents ...string) error {
		files++
		name := filepath.Join(dir, fmt.Sprintf("team-%02d", files%20), fmt.Sprintf("%05d.yaml", files))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		w := bufio.NewWriter(f)
		for i, d := range documents {
			if i > 0 {
				fmt.Fprintln(w, "---")
			}
			fmt.Fprint(w, d)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		return f.Close()
	}
	for i := 0; n > 0; i++ {
		documents := application(random, i)
		documents = documents[:min(n, len(documents))]
		n -= len(documents)
		if i%8 == 0 {
			for _, d := range documents {
				if err := write(d); err != nil {
					return err
				}
			}
			continue
		}
		if shared = append(shared, documents...); len(shared) >= 3+random.IntN(60) || n == 0 {
			if err := write(shared...); err != nil {
				return err
			}
			shared = nil
		}
	}
	if len(shared) > 0 {
		return write(shared...)
	}
	return nil
}

// workloads are kinds that create pods, with the text around the template.
var workloads = []struct{ kind, head, restart string }{
	{"Deployment", "apiVersion: apps/v1\nkind: Deployment\n%s\nspec:\n  replicas: 3\n  revisionHistoryLimit: 5\n" +
		"  selector:\n    matchLabels:\n      app: %s\n", ""},
	{"StatefulSet", "apiVersion: apps/v1\nkind: StatefulSet\n%s\nspec:\n  replicas: 3\n  serviceName: %[2]s\n" +
		"  selector:\n    matchLabels:\n      app: %[2]s\n", ""},
	{"DaemonSet", "apiVersion: apps/v1\nkind: DaemonSet\n%s\nspec:\n  selector:\n    matchLabels:\n      app: %s\n", ""},
	{"Job", "apiVersion: batch/v1\nkind: Job\n%s\nspec:\n  backoffLimit: 3\n  completions: 2 # of %s\n", "      restartPolicy: Never\n"},
}

// application returns a workload with the objects that usually come with it.
func application(random *rand.Rand, i int) []string {
	name := fmt.Sprintf("app-%d", i)
	meta := fmt.Sprintf("metadata:\n  name: %[1]s\n  namespace: team-%[2]d\n  labels:\n    app: %[1]s\n"+
		"    app.kubernetes.io/part-of: shop\n  annotations:\n"+
		"    example.com/owner: \"team %[2]d\"", name, i%10)
	w := workloads[random.IntN(len(workloads))]
	out := []string{fmt.Sprintf(w.head, meta, name) + template(random, name, w.restart)}
	out = append(out,
		fmt.Sprintf("apiVersion: v1\nkind: Service\n%s\nspec:\n  type: ClusterIP\n  selector:\n    app: %s\n"+
			"  ports:\n  - name: http\n    port: 80\n    targetPort: http\n    protocol: TCP\n", meta, name),
		fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\n%s\ndata:\n  mode: fast\n  settings.ini: |\n    [main]\n"+
			"    workers = %d\n    log = info\n    # the rest is default\n"+
			"  feature: \"true\"\n", meta, random.IntN(32)),
		fmt.Sprintf("apiVersion: v1\nkind: PersistentVolumeClaim\n%s\nspec:\n  accessModes:\n  - ReadWriteOnce\n"+
			"  storageClassName: managed-csi\n  resources:\n    requests:\n"+
			"      storage: %dGi\n", meta, 1+random.IntN(64)))
	if random.IntN(2) == 0 {
		out = append(out, fmt.Sprintf("apiVersion: networking.k8s.io/v1\nkind: Ingress\n%s\nspec:\n"+
			"  ingressClassName: nginx\n  rules:\n  - host: %[2]s.example.com\n    http:\n      paths:\n"+
			"      - path: /\n        pathType: Prefix\n        backend:\n          service:\n"+
			"            name: %[2]s\n            port:\n              name: http\n", meta, name))
	}
	if random.IntN(3) == 0 {
		out = append(out,
			fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\n%s\nautomountServiceAccountToken: false\n", meta),
			fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n%s\nrules:\n- apiGroups: [\"\"]\n"+
				"  resources: [configmaps, secrets]\n  verbs: [get, list, watch]\n- apiGroups: [apps]\n"+
				"  resources: [deployments]\n  verbs: [get]\n", meta))
	}
	return out
}

// template returns a pod template with one to three containers.
func template(random *rand.Rand, name, restart string) string {
	var b strings.Builder
	windows, faulty := random.IntN(2) == 0, random.IntN(10) == 0
	fmt.Fprintf(&b, "  template:\n    metadata:\n      labels:\n        app: %s\n    spec:\n"+
		"%s      serviceAccountName: default\n"+
		"      terminationGracePeriodSeconds: %d\n", name, restart, 10+random.IntN(50))
	image, memory := "registry.example.com/shop/server:1.4.2", "512Mi"
	if windows {
		image = "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022"
		b.WriteString("      os:\n        name: windows\n      nodeSelector:\n" +
			"        kubernetes.io/os: windows\n        node.kubernetes.io/windows-build: 10.0.20348\n")
	} else {
		b.WriteString("      nodeSelector:\n        kubernetes.io/os: linux\n      securityContext:\n" +
			"        runAsNonRoot: true\n        fsGroup: 2000\n")
	}
	if windows && faulty {
		memory = "800m"
	}
	b.WriteString("      containers:\n")
	for c := range 1 + random.IntN(3) {
		fmt.Fprintf(&b, `      - name: c%[1]d
        image: %[2]s
        imagePullPolicy: IfNotPresent
        env:
        - name: MODE
          value: production
        - name: LEVEL
          valueFrom:
            configMapKeyRef:
              name: %[3]s
              key: mode
        ports:
        - name: http%[1]d
          containerPort: %[4]d
        resources:
          requests:
            cpu: 250m
            memory: %[5]s
          limits:
            cpu: "1"
            memory: %[5]s
        readinessProbe:
          httpGet:
            path: /healthz
            port: http%[1]d
          periodSeconds: 10
        volumeMounts:
        - name: data
          mountPath: /data
`, c, image, name, 8080+c, memory)
		if !windows {
			b.WriteString("        securityContext:\n          readOnlyRootFilesystem: true\n" +
				"          capabilities:\n            drop: [ALL]\n")
		}
	}
	fmt.Fprintf(&b, "      volumes:\n      - name: data\n        persistentVolumeClaim:\n          claimName: %s\n", name)
	return b.String()
}
