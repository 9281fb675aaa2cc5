package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// account returns the environment, with the subscription and tenant of `az login` if it contains no
// service principal. own means that the run creates its own service principal, because casement and
// the cloud provider in the clusters log in as one.
func account(ctx context.Context, getenv func(string) string) (with func(string) string, own bool, err error) {
	if getenv("AZURE_CLIENT_ID") != "" || getenv("AZURE_CLIENT_SECRET") != "" {
		return getenv, false, nil
	}
	if _, err := exec.LookPath("az"); err != nil {
		return getenv, false, nil // the settings report what is missing
	}
	var at struct{ ID, TenantID string }
	args := []string{"account", "show"}
	if named := getenv("AZURE_SUBSCRIPTION_ID"); named != "" {
		args = append(args, "--subscription", named)
	}
	if err := az(ctx, &at, args...); err != nil {
		return nil, false, fmt.Errorf("AZURE_CLIENT_ID names no service principal, and az knows no account: run az login, or set it with "+
			"AZURE_CLIENT_SECRET, AZURE_TENANT_ID and AZURE_SUBSCRIPTION_ID: %w", err)
	}
	return func(name string) string {
		switch name {
		case "AZURE_SUBSCRIPTION_ID":
			return at.ID
		case "AZURE_TENANT_ID":
			return at.TenantID
		}
		return getenv(name)
	}, true, nil
}

// loginFile returns the path of the file with the run's service principal for its guard.
func loginFile(home string) string { return filepath.Join(home, "login.json") }

// principal is a service principal in az's output.
type principal struct{ AppID, Password string }

// login creates the run's service principal, with the run's name, and waits until it can log in.
func (s settings) login(ctx context.Context, home string) (settings, error) {
	var made principal
	err := az(ctx, &made, "ad", "sp", "create-for-rbac", "--name", s.name, "--role", "Contributor",
		"--scopes", "/subscriptions/"+s.subscription)
	if err != nil {
		return s, fmt.Errorf("make a service principal for this run, which needs the role Owner of the subscription; "+
			"else set AZURE_CLIENT_ID and "+
			"AZURE_CLIENT_SECRET of one that is Contributor: %w", err)
	}
	data, err := json.Marshal(made)
	if err == nil {
		err = os.WriteFile(loginFile(home), data, 0o600)
	}
	if err != nil {
		return s, err
	}
	s.client, s.secret = made.AppID, made.Password
	return s, s.admitted(ctx)
}

// admitted waits until the service principal may list resource groups: Azure needs up to some
// minutes to know a new one.
func (s settings) admitted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		g, err := openGroups(s)
		if err != nil {
			return err
		}
		if _, err = g.groups.NewListPager(nil).NextPage(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the service principal %s is not admitted by Azure: %w", s.name, err)
		case <-tick.C:
		}
	}
}

// again returns the settings with the service principal that the run created, and whether the run
// got so far.
func (s settings) again(home string) (settings, bool, error) {
	data, err := os.ReadFile(loginFile(home))
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	var made principal
	if err == nil {
		err = json.Unmarshal(data, &made)
	}
	s.client, s.secret = made.AppID, made.Password
	return s, err == nil, err
}

// logout deletes the service principals of the run, by the run's name.
func (s settings) logout(ctx context.Context) error {
	var apps []principal
	if err := az(ctx, &apps, "ad", "app", "list", "--display-name", s.name); err != nil {
		return fmt.Errorf("DELETE THE APPLICATION %s BY HAND (az ad app delete): %w", s.name, err)
	}
	var errs []error
	for _, app := range apps {
		if err := az(ctx, nil, "ad", "app", "delete", "--id", app.AppID); err != nil {
			errs = append(errs, fmt.Errorf("DELETE THE APPLICATION %s BY HAND (az ad app delete): %w", s.name, err))
		}
	}
	return errors.Join(errs...)
}

// az runs Azure's command line and decodes the JSON that it prints. Its output may contain a
// password, so an error contains only its error message.
func az(ctx context.Context, into any, args ...string) error {
	out, err := exec.CommandContext(ctx, "az", append(args, "--only-show-errors", "-o", "json")...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("az %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(failed.Stderr)))
	}
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("az %s printed no JSON: %w", strings.Join(args, " "), err)
	}
	return nil
}
