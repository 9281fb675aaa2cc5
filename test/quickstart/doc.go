// This package holds tests only.

package quickstart
