// This package holds tests only.

package integration
