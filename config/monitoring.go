package config

import "fmt"

// Monitoring returns the names of the files for Prometheus and Grafana.
func Monitoring() []string { return []string{"dashboard.json", "rules.yaml"} }

// MonitoringFile returns one of them.
func MonitoringFile(name string) ([]byte, error) {
	data, err := files.ReadFile("monitoring/" + name)
	if err != nil {
		return nil, fmt.Errorf("embedded monitoring file: %w", err)
	}
	return data, nil
}
