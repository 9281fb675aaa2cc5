package helm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/registry"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/rest"

	"casement.dev/casement/internal/helm/v1alpha1"
)

// workload runs Helm's actions for one release in one workload cluster.
type workload struct {
	spec    *v1alpha1.HelmReleaseProxySpec
	options Options
	// trust has the credentials and CA for the chart's repository.
	trust  trust
	getter *getter
	action *action.Configuration
}

// trust has the files with the credentials and the CA of a repository; "" means none.
type trust struct{ Credentials, CA string }

func newWorkload(config *rest.Config, spec *v1alpha1.HelmReleaseProxySpec, o Options, t trust) (*workload, error) {
	w := &workload{spec: spec, options: o, trust: t, action: new(action.Configuration)}
	var err error
	if w.getter, err = newGetter(config, spec.ReleaseNamespace); err != nil {
		return nil, err
	}
	if err := w.action.Init(w.getter, spec.ReleaseNamespace, "secret", func(string, ...any) {}); err != nil {
		return nil, err
	}
	w.action.RegistryClient, err = registry.NewClient(registry.ClientOptWriter(bytes.NewBuffer(nil)),
		registry.ClientOptCredentialsFile(cmp.Or(t.Credentials, filepath.Join(o.Cache, "registry.json"))))
	return w, err
}

// apply installs the release, or upgrades it if the chart or the values have changed.
func (w *workload) apply(ctx context.Context) (*release.Release, error) {
	values, err := chartutil.ReadValues([]byte(w.spec.Values))
	if err != nil {
		return nil, fmt.Errorf("spec.values: %w", err)
	}
	c, err := w.chart(values)
	if err != nil {
		return nil, err
	}
	var last *release.Release
	if w.spec.ReleaseName != "" {
		last, err = action.NewGet(w.action).Run(w.spec.ReleaseName)
	}
	switch {
	case err != nil && !errors.Is(err, driver.ErrReleaseNotFound):
		return nil, err
	case last == nil:
		return w.install(ctx, c, values)
	case last.Info.Status.IsPending():
		// The process that began the operation has ended. Helm refuses an upgrade until the release counts as failed.
		last.SetStatus(release.StatusFailed, "interrupted")
		if err := w.action.Releases.Update(last); err != nil {
			return nil, err
		}
	case last.Info.Status == release.StatusDeployed && last.Chart.Metadata.Version == c.Metadata.Version && same(last.Config, values):
		return last, nil
	}
	return w.upgrade(ctx, c, values)
}

// same compares values in the form in which Helm stores them.
func same(a, b map[string]any) bool {
	one, err := json.Marshal(a)
	if err != nil {
		return false
	}
	other, err := json.Marshal(b)
	return err == nil && (bytes.Equal(one, other) || len(a) == 0 && len(b) == 0)
}

func (w *workload) install(ctx context.Context, c *chart.Chart, values chartutil.Values) (*release.Release, error) {
	o := w.spec.Options
	i := action.NewInstall(w.action)
	i.Namespace, i.ReleaseName, i.Version = w.spec.ReleaseNamespace, w.spec.ReleaseName, w.spec.Version
	i.CreateNamespace = o.Install.CreateNamespace == nil || *o.Install.CreateNamespace
	i.DisableHooks, i.SkipCRDs, i.SubNotes, i.IncludeCRDs = o.DisableHooks, o.SkipCRDs, o.SubNotes, o.Install.IncludeCRDs
	i.DisableOpenAPIValidation, i.TakeOwnership = o.DisableOpenAPIValidation, o.TakeOwnership || isStub(c)
	i.Timeout = hookTimeout
	if i.ReleaseName == "" {
		i.GenerateName = true
		name, _, err := i.NameAndChart([]string{w.spec.ChartName})
		if err != nil {
			return nil, err
		}
		i.ReleaseName = name
	}
	return i.RunWithContext(ctx, c, values)
}

func (w *workload) upgrade(ctx context.Context, c *chart.Chart, values chartutil.Values) (*release.Release, error) {
	o := w.spec.Options
	u := action.NewUpgrade(w.action)
	u.Namespace, u.Version = w.spec.ReleaseNamespace, w.spec.Version
	u.DisableHooks, u.SkipCRDs, u.SubNotes = o.DisableHooks, o.SkipCRDs, o.SubNotes
	u.DisableOpenAPIValidation, u.TakeOwnership = o.DisableOpenAPIValidation, o.TakeOwnership || isStub(c)
	u.Force, u.ResetValues, u.ReuseValues, u.ResetThenReuseValues = o.Upgrade.Force, o.Upgrade.ResetValues,
		o.Upgrade.ReuseValues, o.Upgrade.ResetThenReuseValues
	u.MaxHistory, u.CleanupOnFail, u.Timeout = o.Upgrade.MaxHistory, o.Upgrade.CleanupOnFail, hookTimeout
	return u.RunWithContext(ctx, w.spec.ReleaseName, c, values)
}

// remove uninstalls the release, if there is one.
func (w *workload) remove() error {
	if w.spec.ReleaseName == "" {
		return nil
	}
	u := action.NewUninstall(w.action)
	u.IgnoreNotFound, u.DisableHooks, u.Timeout = true, w.spec.Options.DisableHooks, hookTimeout
	if o := w.spec.Options.Uninstall; o != nil {
		u.KeepHistory, u.Description = o.KeepHistory, o.Description
	}
	_, err := u.Run(w.spec.ReleaseName)
	return err
}

// chart returns the chart: a stub, a chart in the folder of charts, or one from its repository.
func (w *workload) chart(values chartutil.Values) (*chart.Chart, error) {
	if s, ok := findStub(w.spec.ChartName); ok {
		version, err := w.getter.discovery.ServerVersion()
		if err != nil {
			return nil, fmt.Errorf("ask the cluster for its version: %w", err)
		}
		return s.build(stubInput{chart: w.spec.ChartName, version: w.spec.Version, kubernetes: version.GitVersion, values: values})
	}
	if c, err := w.local(); c != nil || err != nil {
		return c, err
	}
	settings := cli.New()
	settings.RepositoryCache, settings.RepositoryConfig = filepath.Join(w.options.Cache, "charts"),
		filepath.Join(w.options.Cache, "repositories.yaml")
	settings.RegistryConfig = filepath.Join(w.options.Cache, "registry.json")
	// The locator gets the registry's client from the action.
	pull := action.NewInstall(w.action)
	pull.SetRegistryClient(w.action.RegistryClient)
	pull.RepoURL, pull.Version, pull.CaFile = w.spec.RepoURL, w.spec.Version, w.trust.CA
	pull.InsecureSkipTLSverify = w.spec.TLSConfig != nil && w.spec.TLSConfig.InsecureSkipTLSVerify
	name := w.spec.ChartName
	if registry.IsOCI(w.spec.RepoURL) {
		joined, err := url.JoinPath(w.spec.RepoURL, name)
		if err != nil {
			return nil, err
		}
		pull.RepoURL, name = "", joined
	}
	path, err := pull.LocateChart(name, settings)
	if err != nil {
		return nil, fmt.Errorf("get chart %s %s of %s: %w; a machine without that network takes charts from a "+
			"folder: casement up --charts DIR",
			w.spec.ChartName, w.spec.Version, w.spec.RepoURL, err)
	}
	return load(path)
}

// limitErrors are parts of the error messages of Helm and its YAML library about a chart that exceeds their limits.
var limitErrors = []string{"larger than the maximum", "excessive aliasing", "exceeded max depth"}

// load loads a chart. The error for a chart that exceeds limits is final.
func load(path string) (*chart.Chart, error) {
	c, err := loader.Load(path)
	if err != nil && slices.ContainsFunc(limitErrors, func(text string) bool { return strings.Contains(err.Error(), text) }) {
		return nil, exceeded("%v", err)
	}
	return c, err
}

// local returns the chart from the folder of charts, as NAME-VERSION.tgz, NAME.tgz or a folder NAME, or nil.
func (w *workload) local() (*chart.Chart, error) {
	if w.options.Charts == "" {
		return nil, nil
	}
	for _, file := range []string{w.spec.ChartName + "-" + w.spec.Version + ".tgz", w.spec.ChartName + ".tgz", w.spec.ChartName} {
		path := filepath.Join(w.options.Charts, filepath.Base(file))
		if _, err := os.Stat(path); err != nil {
			continue
		}
		c, err := load(path)
		if err != nil {
			return nil, fmt.Errorf("load chart %s: %w", path, err)
		}
		if v := w.spec.Version; v != "" && v != c.Metadata.Version && v != "v"+c.Metadata.Version {
			return nil, fmt.Errorf("chart %s has version %s, and spec.version asks for %s", path, c.Metadata.Version, v)
		}
		return c, nil
	}
	return nil, nil
}
