package main

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/yaml"
)

// poolSize is the largest number of machines in a scale set. Source: learn.microsoft.com, Azure
// subscription and service limits, Virtual Machine Scale Sets.
const poolSize = 1000

// poolName is the suffix of the names of objects of the flavor's Windows pool.
const poolName = "-mp-win"

// poolsFor returns the number of pools of the same size that together have a number of machines.
func poolsFor(machines int) (int, error) {
	pools := (machines + poolSize - 1) / poolSize
	if pools > 1 && machines%pools != 0 {
		return 0, fmt.Errorf("%d machines make no %d pools of the same size", machines, pools)
	}
	return max(pools, 1), nil
}

// repeatPool returns a cluster's manifest in which the Windows pool is repeated.
func repeatPool(manifest []byte, pools int) ([]byte, error) {
	separator := []byte("\n---\n")
	documents := bytes.Split(manifest, separator)
	for _, document := range documents {
		var o struct {
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal(document, &o); err != nil {
			return nil, err
		}
		if !bytes.HasSuffix([]byte(o.Metadata.Name), []byte(poolName)) {
			continue
		}
		for i := range pools - 1 {
			documents = append(documents, bytes.ReplaceAll(document, []byte(poolName), fmt.Appendf(nil, "%s-%d", poolName, i+2)))
		}
	}
	return bytes.Join(documents, separator), nil
}
