package config

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Monitoring returns the names of the files for Prometheus and Grafana.
func Monitoring() []string { return []string{"dashboard.json", "rules.yaml"} }

// MonitoringFile returns the content of a file of the monitoring configuration.
func MonitoringFile(name string) ([]byte, error) {
	data, err := files.ReadFile("monitoring/" + name)
	if err != nil {
		return nil, fmt.Errorf("embedded monitoring file: %w", err)
	}
	return data, nil
}

// Rule is a rule of Prometheus: it records a series or alerts.
type Rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

// Rules returns the alerting and recording rules in the file for Prometheus.
func Rules() ([]Rule, error) {
	data, err := MonitoringFile("rules.yaml")
	if err != nil {
		return nil, err
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []Rule
		}
	}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return nil, fmt.Errorf("embedded monitoring/rules.yaml: %w", err)
	}
	var out []Rule
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	return out, nil
}

// Queries returns all PromQL queries of the rules and the dashboard.
func Queries() ([]string, error) {
	rules, err := Rules()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range rules {
		out = append(out, r.Expr)
	}
	data, err := MonitoringFile("dashboard.json")
	if err != nil {
		return nil, err
	}
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &dashboard); err != nil {
		return nil, fmt.Errorf("embedded monitoring/dashboard.json: %w", err)
	}
	for _, p := range dashboard.Panels {
		for _, t := range p.Targets {
			out = append(out, t.Expr)
		}
	}
	return out, nil
}
