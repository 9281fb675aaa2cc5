// This package holds tests only.

package matrix
